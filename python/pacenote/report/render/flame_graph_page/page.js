"use strict";
// Draws the stacks of the JSON document in #data as an icicle: callers above, callees below. Every text from
// the recording reaches the page through textContent or fillText, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const [canvas, graph, rows, tooltip, search] = ["canvas", "graph", "rows", "tooltip", "search"].map(element);
  const context = canvas.getContext("2d");
  const ROW = 19, FONT = "12px system-ui, sans-serif", LEAST_PX = 0.4, CALLERS = 6;
  const compares = data.baseline;

  // Frames, in the order of their numbers.
  const frames = [];
  for (const [kind, origin, names] of data.frames)
    for (const name of names) frames.push({ kind, origin, name, full: origin + name });

  // Nodes in preorder; `end[i]` is the first node after the subtree of node i.
  const stride = compares ? 4 : 3, count = data.nodes.length / stride;
  const frame = new Int32Array(count), depth = new Int32Array(count), parent = new Int32Array(count);
  const end = new Int32Array(count), left = new Float64Array(count);
  const own = new Float64Array(count), ownBaseline = new Float64Array(count);
  const total = new Float64Array(count), totalBaseline = new Float64Array(count);
  let deepest = 0;
  const open = [];
  for (let i = 0; i < count; i++) {
    const at = i * stride;
    while (open.length && open[open.length - 1][1] === 0) end[open.pop()[0]] = i;
    parent[i] = open.length ? open[open.length - 1][0] : -1;
    depth[i] = open.length;
    deepest = Math.max(deepest, depth[i]);
    if (open.length) open[open.length - 1][1]--;
    frame[i] = data.nodes[at];
    own[i] = total[i] = data.nodes[at + 2];
    if (compares) ownBaseline[i] = totalBaseline[i] = data.nodes[at + 3];
    open.push([i, data.nodes[at + 1]]);
  }
  while (open.length) end[open.pop()[0]] = count;
  for (let i = count - 1; i > 0; i--) {
    total[parent[i]] += total[i];
    totalBaseline[parent[i]] += totalBaseline[i];
  }

  let byBaseline = compares && total[0] === 0;
  let zoomed = 0, selected = 0, matched = null, ratio = 1, width = 1;
  const weight = () => (byBaseline ? totalBaseline : total);

  function layOut() {
    const weights = weight(), next = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      left[i] = i ? next[parent[i]] : 0;
      next[i] = left[i];
      if (i) next[parent[i]] += weights[i];
    }
  }

  // Texts.
  const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  function amount(value) {
    if (data.unit === "bytes") {
      let unit = 0;
      for (; value >= 1024 && unit < 5; unit++) value /= 1024;
      return `${unit ? value.toFixed(1) : value} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
    }
    if (data.unit === "ns") {
      for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
        if (value >= size) return `${digits(value / size)} ${unit}`;
      return `${value} ns`;
    }
    return `${value.toLocaleString("en")} ${value === 1 ? data.unit.replace(/s$/, "") : data.unit}`;
  }
  const part = (value, whole) => (whole ? value / whole : 0);
  const percent = (share) => `${(share * 100).toFixed(share && share < 0.001 ? 3 : 2)} %`;
  const side = (value, whole) => `${amount(value)} (${percent(part(value, whole))})`;
  function figures(i) {
    if (!compares)
      return [`${side(total[i], total[0])}${own[i] ? `, of which itself ${side(own[i], total[0])}` : ""}`];
    const points = (part(total[i], total[0]) - part(totalBaseline[i], totalBaseline[0])) * 100;
    const both = (now, before) =>
      `contender ${side(now, total[0])}, baseline ${side(before, totalBaseline[0])}`;
    return [
      `${both(total[i], totalBaseline[i])}, change of share ${points > 0 ? "+" : ""}${points.toFixed(2)} points`,
      ...(own[i] || ownBaseline[i] ? [`of which itself: ${both(own[i], ownBaseline[i])}`] : []),
    ];
  }
  function callers(i) {
    const found = [];
    for (let at = parent[i]; at > 0; at = parent[at]) found.push(frames[frame[at]].full);
    return found;
  }
  function paragraphs(target, texts) {
    target.replaceChildren(...texts.map(([text, dim]) => {
      const line = document.createElement("p");
      line.textContent = text;
      if (dim) line.className = "dim";
      return line;
    }));
  }

  // Colours.
  const PACKAGES = [
    ["Elasticsearch, OpenSearch", 28, /^(org\.elasticsearch|org\.opensearch)\./],
    ["Lucene", 205, /^org\.apache\.lucene\./],
    ["Netty", 275, /^io\.netty\./],
    ["JDK", 105, /^(java|javax|jdk|sun|com\.sun)\./],
    ["other methods", 52, /(?:)/],
  ];
  const KINDS = {
    class: ["allocated class", 170], lock: ["class of the lock", 170], target: ["file or peer", 170],
    native: ["native methods", 0],
  };
  const hash = (text) => {
    let value = 7;
    for (let i = 0; i < text.length; i++) value = (value * 31 + text.charCodeAt(i)) % 997;
    return value / 997;
  };
  const group = (one) => KINDS[one.kind] || PACKAGES.find(([, , pattern]) => pattern.test(one.full));
  const plain = (kind) => ["all", "thread", "rest"].includes(kind);
  const ownColours = frames.map((one) =>
    plain(one.kind) ? "hsl(215 10% 78%)" : `hsl(${group(one)[1]} 62% ${70 + hash(one.full) * 10}%)`);
  // From -1, only in the baseline, to 1, only in the contender.
  function change(i) {
    const now = part(total[i], total[0]), before = part(totalBaseline[i], totalBaseline[0]);
    return now === before ? 0 : (now - before) / Math.max(now, before);
  }
  function colour(i) {
    if (!compares) return ownColours[frame[i]];
    const by = change(i);
    return `hsl(${by > 0 ? 22 : 212} ${Math.abs(by) * 88}% ${86 - Math.abs(by) * 24}%)`;
  }
  function legend() {
    const shown = compares
      ? [["larger share in the contender", "hsl(22 88% 62%)"], ["same share", "hsl(0 0% 86%)"],
         ["smaller share in the contender", "hsl(212 88% 62%)"]]
      : [...new Set(frames.filter((one) => !plain(one.kind)).map(group))].map(([name, hue]) =>
          [name, `hsl(${hue} 62% 75%)`]);
    element("legend").replaceChildren(...shown.map(([name, fill]) => {
      const item = document.createElement("li"), box = document.createElement("i");
      box.style.background = fill;
      item.append(box, name);
      return item;
    }));
  }

  // Drawing.
  const isAncestor = (i, of) => i <= of && of < end[i];
  function box(i) {
    const weights = weight(), whole = weights[zoomed] || 1;
    if (isAncestor(i, zoomed)) return [0, width];
    return [((left[i] - left[zoomed]) / whole) * width, (weights[i] / whole) * width];
  }
  function drawBox(i, x, wide, top) {
    context.globalAlpha = i !== zoomed && isAncestor(i, zoomed) ? 0.6 : 1;
    context.fillStyle = matched && matched[i] ? "#b32db3" : colour(i);
    const gap = wide > 3 ? 1 : 0;
    context.fillRect(x, top, Math.max(wide - gap, LEAST_PX), ROW - 1);
    if (wide > 24) {
      context.fillStyle = matched && matched[i] ? "#fff" : "#15181c";
      context.save();
      context.beginPath();
      context.rect(x, top, wide - 3, ROW);
      context.clip();
      context.fillText(frames[frame[i]].name, x + 4, top + ROW / 2);
      context.restore();
    }
    context.globalAlpha = 1;
    if (i === selected && document.activeElement === canvas) {
      context.lineWidth = 2;
      context.strokeStyle = "#0b57d0";
      context.strokeRect(x + 1, top + 1, Math.max(wide - 3, 2), ROW - 3);
    }
  }
  function draw() {
    const top = graph.scrollTop, height = graph.clientHeight;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    for (let i = 0; i < count; ) {
      const isOutside = !isAncestor(i, zoomed) && !isAncestor(zoomed, i);
      const [x, wide] = isOutside ? [0, 0] : box(i);
      const y = depth[i] * ROW - top;
      // Subtrees that are elsewhere, too narrow or below the window are skipped.
      if (wide < LEAST_PX || y > height) {
        i = end[i];
        continue;
      }
      if (y > -ROW) drawBox(i, x, wide, y);
      i++;
    }
  }
  let isPending = false;
  function redraw() {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      draw();
    });
  }
  function resize() {
    ratio = window.devicePixelRatio || 1;
    width = graph.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(graph.clientHeight * ratio);
    canvas.style.height = `${graph.clientHeight}px`;
    rows.style.height = `${Math.max((deepest + 1) * ROW, graph.clientHeight)}px`;
    redraw();
  }

  // Selection, zoom and search.
  function select(i) {
    selected = i;
    const stack = callers(i);
    paragraphs(element("details"), [
      [frames[frame[i]].full],
      ...figures(i).map((text) => [text]),
      ...(stack.length ? [["called by", true], ...stack.map((name) => [name])] : []),
    ]);
    const y = depth[i] * ROW;
    if (y < graph.scrollTop) graph.scrollTop = y;
    if (y + ROW > graph.scrollTop + graph.clientHeight) graph.scrollTop = y + ROW - graph.clientHeight;
    redraw();
  }
  function zoom(i) {
    zoomed = weight()[i] ? i : 0;
    select(i);
  }
  function show(i) {
    if (!isAncestor(zoomed, i)) zoomed = 0;
    while (i !== zoomed && box(i)[1] < 4) zoomed = zoomed === parent[i] ? i : childTowards(i);
    select(i);
  }
  function childTowards(i) {
    let at = i;
    while (parent[at] !== zoomed) at = parent[at];
    return at;
  }
  function isMatch(text) {
    const needle = text.toLowerCase();
    return frames.map((one) => one.full.toLowerCase().includes(needle));
  }
  function find() {
    matched = null;
    let sum = 0, sumBaseline = 0, found = 0;
    const text = search.value.trim();
    if (text) {
      const hits = isMatch(text);
      matched = new Uint8Array(count);
      let covered = 0;
      for (let i = 1; i < count; i++) {
        if (!hits[frame[i]]) continue;
        matched[i] = 1;
        found++;
        // A match below another one is part of its total.
        if (i >= covered) {
          sum += total[i];
          sumBaseline += totalBaseline[i];
          covered = end[i];
        }
      }
    }
    const shares = compares
      ? `contender ${percent(part(sum, total[0]))}, baseline ${percent(part(sumBaseline, totalBaseline[0]))}`
      : percent(part(sum, total[0]));
    element("matches").textContent = text ? `${found.toLocaleString("en")} matched: ${shares}` : "";
    redraw();
  }
  function step(by) {
    if (!matched) return;
    for (let n = 1; n <= count; n++) {
      const i = (((selected + by * n) % count) + count) % count;
      if (matched[i] && weight()[i]) return show(i);
    }
  }
  function switchWidths() {
    if (!compares) return;
    byBaseline = !byBaseline;
    element("widths").textContent = `Widths: ${byBaseline ? "baseline" : "contender"}`;
    layOut();
    zoom(zoomed);
  }
  function reset() {
    if (search.value) {
      search.value = "";
      find();
    } else zoom(0);
  }

  // Pointer.
  function under(event) {
    const area = canvas.getBoundingClientRect();
    const x = event.clientX - area.left;
    const level = Math.floor((event.clientY - area.top + graph.scrollTop) / ROW);
    for (let i = 0; i < count; ) {
      const [from, wide] = isAncestor(i, zoomed) || isAncestor(zoomed, i) ? box(i) : [0, 0];
      if (wide < LEAST_PX || x < from || x >= from + wide) i = end[i];
      else if (depth[i] === level) return i;
      else i++;
    }
    return -1;
  }
  function hover(event) {
    const i = under(event);
    tooltip.hidden = i < 0;
    if (i < 0) return;
    const stack = callers(i), more = stack.length - CALLERS;
    paragraphs(tooltip, [
      [frames[frame[i]].full],
      ...figures(i).map((text) => [text]),
      ...stack.slice(0, CALLERS).map((name) => [`← ${name}`, true]),
      ...(more > 0 ? [[`… ${more} more`, true]] : []),
    ]);
    const { offsetWidth, offsetHeight } = tooltip;
    const below = event.clientY + 16;
    tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - offsetWidth - 8))}px`;
    tooltip.style.top = `${below + offsetHeight > innerHeight ? Math.max(4, event.clientY - offsetHeight - 8) : below}px`;
  }
  function leave() {
    tooltip.hidden = true;
  }

  // Keys.
  function sibling(by) {
    const inside = parent[selected];
    if (inside < 0) return;
    const siblings = [];
    for (let i = inside + 1; i < end[inside]; i = end[i]) if (weight()[i]) siblings.push(i);
    const at = siblings.indexOf(selected) + by;
    if (at >= 0 && at < siblings.length) show(siblings[at]);
  }
  function child() {
    for (let i = selected + 1; i < end[selected]; i = end[i]) if (weight()[i]) return show(i);
  }
  const onCanvas = {
    ArrowDown: child,
    ArrowUp: () => selected && show(parent[selected]),
    ArrowLeft: () => sibling(-1),
    ArrowRight: () => sibling(1),
    Enter: () => zoom(selected),
    " ": () => zoom(selected),
    Backspace: () => zoomed && zoom(parent[zoomed]),
    Home: () => zoom(0),
  };
  const everywhere = {
    "/": () => search.focus(),
    n: () => step(1),
    N: () => step(-1),
    b: switchWidths,
    B: switchWidths,
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      reset();
      canvas.focus();
    } else if (event.target === search) {
      if (event.key !== "Enter") return;
      step(event.shiftKey ? -1 : 1);
    } else {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      const action = isPlain && ((event.target === canvas && onCanvas[event.key]) || everywhere[event.key]);
      if (!action) return;
      action();
    }
    event.preventDefault();
  });

  canvas.addEventListener("mousemove", hover);
  canvas.addEventListener("mouseleave", leave);
  canvas.addEventListener("click", (event) => {
    const i = under(event);
    if (i >= 0) zoom(i);
  });
  for (const name of ["focus", "blur"]) canvas.addEventListener(name, redraw);
  graph.addEventListener("scroll", () => {
    leave();
    redraw();
  });
  search.addEventListener("input", find);
  element("previous").addEventListener("click", () => step(-1));
  element("next").addEventListener("click", () => step(1));
  element("reset").addEventListener("click", () => {
    search.value = "";
    find();
    zoom(0);
  });
  element("widths").addEventListener("click", switchWidths);
  element("widths").hidden = !compares;
  element("widths").textContent = `Widths: ${byBaseline ? "baseline" : "contender"}`;
  if (compares) element("help").append(" · B: widths of the baseline");
  window.addEventListener("resize", resize);

  element("title").textContent = data.title;
  element("facts").replaceChildren(...data.facts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  legend();
  layOut();
  resize();
  select(0);
})();
