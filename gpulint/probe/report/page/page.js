"use strict";
// Without this script the sections stand one below the other, and everything can be read.
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

  const follow = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
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
      history.replaceState(null, "", link.hash);
      show(number, true);
      window.scrollTo(0, 0);
    });
    link.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: links.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = (steps[event.key] + links.length) % links.length;
      history.replaceState(null, "", links[next].hash);
      show(next, true);
    });
  });
  document.documentElement.classList.add("tabs");
  window.addEventListener("hashchange", follow);
  follow();

  // ------------------------------------------------------------------ reading the curves
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const inWords = (value, unit) => {
    if (unit === "percent") return value.toFixed(0) + " %";
    let step = 0;
    for (; value >= 1000 && step + 1 < units.length; step++) value /= 1024;
    return (step === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + " " + units[step];
  };
  for (const drawing of document.querySelectorAll("svg[data-lines]")) {
    const lines = JSON.parse(drawing.dataset.lines);
    const end = Number(drawing.dataset.end);
    const cursor = drawing.querySelector(".cursor");
    const output = drawing.closest("figure").querySelector("output");
    const width = drawing.viewBox.baseVal.width;
    let place = 0;
    const read = (number) => {
      const times = lines[0][1];
      place = Math.min(times.length - 1, Math.max(0, number));
      const t = times[place][0];
      const x = (width * t) / end;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const values = lines.map(([name, points]) => {
        const nearest = points.reduce((best, one) => (Math.abs(one[0] - t) < Math.abs(best[0] - t) ? one : best));
        return name + " " + inWords(nearest[1], drawing.dataset.unit);
      });
      output.textContent = t.toFixed(1) + " s: " + values.join(", ");
    };
    drawing.addEventListener("pointermove", (event) => {
      const box = drawing.getBoundingClientRect();
      const t = ((event.clientX - box.left) / box.width) * end;
      const times = lines[0][1].map((point) => Math.abs(point[0] - t));
      read(times.indexOf(Math.min(...times)));
    });
    drawing.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      output.textContent = "";
    });
    drawing.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: lines[0][1].length };
      if (!(event.key in steps)) return;
      event.preventDefault();
      read(steps[event.key]);
    });
  }
})();
