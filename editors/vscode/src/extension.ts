// Starts `gpulint server` for Python files and notebooks, and hands it the settings of the section `gpulint`.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const SECTION = "gpulint";

const OWN_SETTINGS = ["path", "arguments"];
/** Settings of this extension; the server knows all others by the same name. */

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("gpulint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (OWN_SETTINGS.some((name) => event.affectsConfiguration(`${SECTION}.${name}`))) {
        await restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(): Promise<void> {
  const before = client;
  client = undefined;
  await before?.stop().catch(() => undefined); // it may not have started
  await start();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const isTrusted = vscode.workspace.isTrusted;
  const command = settings.get<string>("path") || (isTrusted && (await inSelectedEnvironment())) || "gpulint";
  const server: ServerOptions = {
    command,
    args: ["server", ...settings.get<string[]>("arguments", [])],
    // Windows looks for a command in the working directory first, which is the folder by default.
    ...(isTrusted ? {} : { options: { cwd: homedir() } }),
  };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
      { language: "python", scheme: "vscode-notebook-cell" },
    ],
    initializationOptions: serverSettings(settings),
    middleware: {
      workspace: {
        configuration: async (params, token, next) => {
          const answer = await next(params, token);
          return Array.isArray(answer) ? answer.map(serverSettings) : answer;
        },
        didChangeConfiguration: async (_sections, next) => next([]),
      },
    },
  };
  client = new LanguageClient(SECTION, "gpulint", server, options);
  try {
    await client.start();
  } catch (error) {
    const choice = "Open Settings";
    const message = `gpulint: ${command} does not start (in a clone of gpulint: pip install '.[server]'): ${String(error)}`;
    if ((await vscode.window.showErrorMessage(message, choice)) === choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "gpulint.path");
    }
  }
}

/** The settings without those of this extension, and without empty values, which mean the server's default. */
function serverSettings(settings: Record<string, unknown> | null): Record<string, unknown> {
  const names = ["settings", "configuration", "diagnosticMode", "debounce", "hover", "inlayHints"];
  const given = names.map((name) => [name, settings?.[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null));
}

interface PythonExtension {
  environments?: { getActiveEnvironmentPath(): { path: string } };
}

/** `gpulint` beside the interpreter that the Python extension has selected, undefined if there is none. */
async function inSelectedEnvironment(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (python === undefined) {
    return undefined;
  }
  const api = python.isActive ? python.exports : await python.activate();
  const interpreter = api?.environments?.getActiveEnvironmentPath().path;
  if (!interpreter) {
    return undefined;
  }
  const name = process.platform === "win32" ? "gpulint.exe" : "gpulint";
  const folders = [path.dirname(interpreter), path.join(interpreter, "bin"), path.join(interpreter, "Scripts")];
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}
