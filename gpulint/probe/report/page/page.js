"use strict";
// Without this script the sections follow one another, and everything can be read.
(() => {
  const links = [...document.querySelectorAll("nav a")];
  const sections = links.map((link) => document.querySelector(link.hash));

  // ------------------------------------------------------------------ sections as tabs
  const show = (number, focus) => {
    links.forEach((link, place) => {
      const is = place === number;
      link.setAttribute("aria-selected", is);
      link.tabIndex = is ? 0 : -1;
      sections[place].classList.toggle("active", is);
    });
    if (focus) links[number].focus();
  };

  // Within a notebook the page is in a frame without an address of its own.
  const isFramed = location.protocol === "about:";
  const remember = (hash) => isFramed || history.replaceState(null, "", hash);

  const follow = (hash) => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      // not an address of ours
    }
    const number = target ? sections.findIndex((section) => section.contains(target)) : 0;
    show(Math.max(0, number), false);
    if (!target || target === sections[number]) {
      window.scrollTo(0, 0);
      return;
    }
    for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "center" });
  };

  document.querySelector("nav").setAttribute("role", "tablist");
  links.forEach((link, number) => {
    link.setAttribute("role", "tab");
    link.id = "tab-" + sections[number].id;
    link.setAttribute("aria-controls", sections[number].id);
    sections[number].setAttribute("role", "tabpanel");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      remember(link.hash);
      show(number, true);
      window.scrollTo(0, 0);
    });
    link.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: links.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = (steps[event.key] + links.length) % links.length;
      remember(links[next].hash);
      show(next, true);
    });
  });
  document.documentElement.classList.add("tabs");
  window.addEventListener("hashchange", () => follow(location.hash));
  if (isFramed) {
    document.addEventListener("click", (event) => {
      const link = event.target.closest('main a[href^="#"]');
      if (!link) return;
      event.preventDefault();
      follow(link.getAttribute("href"));
    });
  }
  follow(location.hash);

  // ------------------------------------------------------------------ reading the drawings
  for (const drawing of document.querySelectorAll("svg[data-reads]")) {
    const reads = JSON.parse(drawing.dataset.reads);
    const cursor = drawing.querySelector(".cursor");
    const output = drawing.closest("figure").querySelector("output");
    const width = drawing.viewBox.baseVal.width;
    const hint = "Point at the chart, or use the arrow keys, to read it.";
    let place = 0;
    output.textContent = hint;
    const read = (number) => {
      place = Math.min(reads.length - 1, Math.max(0, number));
      cursor.setAttribute("x1", reads[place][0]);
      cursor.setAttribute("x2", reads[place][0]);
      cursor.setAttribute("visibility", "visible");
      output.textContent = reads[place][1];
    };
    drawing.addEventListener("pointermove", (event) => {
      const box = drawing.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width;
      const apart = reads.map(([at]) => Math.abs(at - x));
      read(apart.indexOf(Math.min(...apart)));
    });
    drawing.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      output.textContent = hint;
    });
    drawing.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: reads.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      read(steps[event.key]);
    });
  }

  // ------------------------------------------------------------------ sorting and filtering the tables
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell?.querySelector("[data-sort]")?.dataset.sort ?? cell?.textContent ?? "";
    const number = Number(text.replaceAll(",", ""));
    return text.trim() !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });

  for (const area of document.querySelectorAll(".data")) {
    const body = area.querySelector("tbody");
    const gather = () => {
      const more = area.querySelector(".more");
      if (!more) return;
      body.append(...more.querySelectorAll("tbody > tr"));
      more.remove();
    };
    area.querySelectorAll("thead th").forEach((head, column) => {
      if (head.textContent === "") return;
      const button = document.createElement("button");
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        gather();
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of area.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)) * (down ? -1 : 1));
        body.append(...rows);
      });
    });
    if (area.querySelectorAll("tbody > tr").length < 10) continue;
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Filter rows";
    filter.setAttribute("aria-label", "Filter rows");
    filter.addEventListener("input", () => {
      gather();
      const wanted = filter.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    area.prepend(filter);
  }
})();
