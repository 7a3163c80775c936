// Draws the charts over time. Every value of a chart comes from a table of the page, and every text reaches the
// page through textContent or fillText, never as HTML.
(() => {
  "use strict";
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const { axis, charts, heat, curves } = JSON.parse(byId("charts").textContent);

  // The values of tables: groups of rows of numbers, null where a cell is empty.
  const tables = new Map();
  function groups(id) {
    if (!tables.has(id)) {
      const found = [...byId(id).tBodies].map((body) => ({
        kind: body.dataset.kind,
        lane: Number(body.dataset.lane),
        end: body.dataset.end ? Number(body.dataset.end) : null,
        rows: [...body.rows].filter((row) => row.cells[0].tagName === "TD").map((row) =>
          Array.from(row.cells, (cell) => (cell.textContent === "" ? null : Number(cell.textContent)))),
      }));
      tables.set(id, found);
    }
    return tables.get(id);
  }

  // Aligns the lines of all lanes on one list of times. The last value of a group holds until its end; then the line
  // has a gap (null), unless the next group follows at once. Undefined is where only other lanes have a value.
  const GAP_S = 1e-6;
  function align(chart) {
    const shown = groups(chart.table).filter((group) => !chart.kind || group.kind === chart.kind);
    const lanes = [...new Set(shown.map((group) => group.lane))].sort((one, other) => one - other);
    // All charts have the same first and last time.
    const times = new Set([0, axis.end]);
    for (const group of shown) {
      for (const row of group.rows) times.add(row[0]);
      if (group.end !== null) times.add(group.end).add(group.end + GAP_S);
    }
    const xs = [...times].sort((one, other) => one - other);
    const place = new Map(xs.map((x, index) => [x, index]));
    const series = [];
    for (const lane of lanes) {
      for (const [label, column, style, to] of chart.lines) {
        for (const from of to === null ? [column] : [column, to]) {
          const values = new Array(xs.length);
          const own = shown.filter((each) => each.lane === lane);
          own.forEach((group, number) => {
            let last = null;
            for (const row of group.rows) {
              last = chart.log && row[from] <= 0 ? null : row[from];
              values[place.get(row[0])] = last;
            }
            if (group.end === null) return;
            values[place.get(group.end)] = last;
            if (!(own[number + 1]?.rows[0][0] <= group.end + GAP_S)) values[place.get(group.end + GAP_S)] = null;
          });
          series.push({ lane, label, style, values, edge: to === null ? "" : from === column ? "low" : "high" });
        }
      }
    }
    return { xs, series };
  }

  // Texts.
  const digits = (number) =>
    Math.abs(number) >= 1000 ? Math.round(number).toLocaleString("en") : String(Number(number.toPrecision(3)));
  function withUnit(number, unit) {
    if (unit !== "ms" || number === 0) return digits(number) + (unit ? ` ${unit}` : "");
    if (number >= 1000) return `${digits(number / 1000)} s`;
    return number >= 1 ? `${digits(number)} ms` : `${digits(number * 1000)} µs`;
  }
  function clock(seconds, withTenths) {
    const whole = Math.floor(seconds), rest = String(whole % 60).padStart(2, "0");
    const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
    const tenths = withTenths ? `.${Math.floor((seconds - whole) * 10 + 1e-6)}` : "";
    return (hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes) + `:${rest}${tenths}`;
  }
  const taskAt = (time) =>
    axis.bands.filter(([, from, to]) => from <= time && time < to).map(([name]) => name).join(", ");

  // Charts.
  const LEFT = 58, HEIGHT = 170, HEAT_HEIGHT = 200, CURVES_HEIGHT = 300, FONT = "12px system-ui, sans-serif";
  let plots = [], shown = null, theme = {};
  const colour = (lane) => [theme.accent, theme.lane1, theme.lane2, theme.lane3][lane] ?? theme.dim;
  function readTheme() {
    const style = getComputedStyle(root);
    for (const name of ["text", "dim", "line", "accent", "shade", "stall", "page", "lane1", "lane2", "lane3"])
      theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  const alpha = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, "0");

  const STEPS_S = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  function axes(xValues, yValues, logarithmic) {
    const common = { stroke: theme.dim, font: FONT, grid: { stroke: theme.line, width: 1 }, ticks: { show: false } };
    return [
      { ...common, values: xValues, size: 28, space: 70, incrs: STEPS_S },
      { ...common, values: yValues, size: LEFT, space: 34, ...(logarithmic ? { splits: powers, filter: (u, splits) => splits } : {}) },
    ];
  }
  // Powers of ten, with 2 and 5 between them if there are few.
  function powers(u, _axis, min, max) {
    const between = max / min > 120 ? [1] : max / min > 12 ? [1, 3] : [1, 2, 3, 5, 7];
    const found = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++)
      for (const factor of between) {
        const split = Number((factor * 10 ** power).toPrecision(3));
        if (split >= min * 0.999 && split <= max * 1.001) found.push(split);
      }
    return found;
  }
  const times = (u, splits, _axis, _space, step) => splits.map((split) => clock(split, step < 1));

  // Shades the stalls behind a chart, and draws where tasks begin.
  function shade(u) {
    const { left, top, width, height } = u.bbox, context = u.ctx;
    const fill = (from, to, style) => {
      const begin = Math.max(u.valToPos(from, "x", true), left);
      const end = Math.min(u.valToPos(to, "x", true), left + width);
      context.fillStyle = style;
      if (end > begin) context.fillRect(begin, top, Math.max(end - begin, 1), height);
    };
    context.save();
    for (const [from, to] of axis.stalls) fill(from, to, theme.stall);
    context.fillStyle = theme.dim;
    for (const [, from] of axis.bands) {
      const at = u.valToPos(from, "x", true);
      if (at > left && at < left + width)
        for (let y = top; y < top + height; y += 6) context.fillRect(at, y, 1, 2);
    }
    context.restore();
  }

  const holderOf = (id) => (id === "strip" ? byId(id) : byId(`chart-${id}`).querySelector(".plot"));
  function overTime(id, height, more) {
    const holder = holderOf(id);
    return {
      holder,
      options: {
        width: Math.max(holder.clientWidth, 200),
        height,
        legend: { show: false },
        cursor: { sync: { key: "race", scales: ["x", null] }, points: { show: false }, drag: { x: true, y: false } },
        padding: [6, 28, 0, 0],
        ...more,
      },
    };
  }

  function drawLines(chart) {
    const { xs, series } = align(chart);
    const stepped = uPlot.paths.stepped({ align: 1 }), bars = uPlot.paths.bars({ size: [1, 100], align: 1 });
    const bands = [];
    series.forEach(({ edge, lane }, index) => {
      if (edge === "high") bands.push({ series: [index + 1, index], fill: alpha(colour(lane), 0.22) });
    });
    const styles = series.map(({ lane, style, edge }) => ({
      stroke: edge ? "transparent" : style === "faint" ? theme.dim : colour(lane),
      width: edge || style === "bar" ? 0 : style === "line" ? 1.8 : 1,
      dash: style === "dashed" ? [5, 3] : undefined,
      fill: style === "bar" ? alpha(colour(lane), 0.5) : undefined,
      paths: style === "bar" ? bars : stepped,
      points: { show: false },
    }));
    const linear = { range: (u, _min, max) => [0, max > 0 ? max * 1.08 : 1] };
    const logarithmic = {
      distr: 3,
      range: (u, min, max) => (min > 0 && max > 0 ? uPlot.rangeLog(min, max, 10, false) : [1, 10]),
    };
    const units = (u, splits) => splits.map((split) => (split === null ? "" : withUnit(split, chart.unit)));
    const short = (u, splits) => splits.map((split) => (split === null ? "" : digits(split)));
    const { holder, options } = overTime(chart.id, HEIGHT, {
      scales: { x: { time: false }, y: chart.log ? logarithmic : linear },
      axes: axes(times, chart.unit === "ms" ? units : short, chart.log),
      series: [{}, ...styles],
      bands,
      hooks: { drawClear: [shade], setCursor: [(u) => read(u, chart, series)] },
    });
    const plot = new uPlot(options, [xs, ...series.map((each) => each.values)], holder);
    const legend = holder.nextElementSibling;
    legend.replaceChildren();
    const items = [];
    for (const [number, each] of series.entries()) {
      if (each.edge) {
        if (each.edge === "high" && each.lane === 0) item(legend, each, each.label);
        continue;
      }
      const same = items.find(({ label }) => label === each.label);
      if (same) same.numbers.push(number);
      else items.push({ label: each.label, numbers: [number], output: item(legend, each, each.label) });
    }
    plot.items = items;
    add(plot);
  }

  function item(legend, { style, lane }, label) {
    const entry = document.createElement("li"), swatch = document.createElement("i");
    const output = document.createElement("b");
    entry.className = `${style} lane${Math.min(lane, 4)}`;
    entry.append(swatch, label, " ", output);
    legend.append(entry);
    return output;
  }

  // Writes the values at the cursor into the legend.
  function read(u, chart, series) {
    const index = u.cursor.idx;
    for (const { numbers, output } of u.items ?? []) {
      const found = numbers.map((number) => at(series[number].values, index)).filter((each) => each != null);
      output.textContent = found.map((each) => withUnit(each, chart.unit)).join(" · ");
    }
    if (index == null) return;
    const time = u.posToVal(u.cursor.left, "x"), task = taskAt(time);
    byId("reading").textContent = clock(time, axis.end < 120) + (task ? ` · ${task}` : "");
  }
  // Returns the value at an index, or the one before it of the same line.
  function at(values, index) {
    if (index == null) return null;
    while (index > 0 && values[index] === undefined) index--;
    return values[index];
  }

  const lanes = axis ? Math.max(...axis.bands.map(([, , , , lane]) => lane)) + 1 : 0, STRIP_HEIGHT = 40 + lanes * 24;
  function drawStrip() {
    const names = (u) => {
      const context = u.ctx, ratio = devicePixelRatio;
      context.save();
      context.beginPath();
      context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      context.clip();
      context.font = FONT.replace("12", String(12 * ratio));
      context.textBaseline = "middle";
      context.textAlign = "left";
      for (const [name, from, to, measured, lane] of axis.bands) {
        const [begin, warm, end] = [from, measured, to].map((time) => u.valToPos(time, "x", true));
        const top = u.bbox.top + (lane * u.bbox.height) / lanes + ratio, height = u.bbox.height / lanes - 2 * ratio;
        context.fillStyle = alpha(colour(lane), 0.12);
        context.fillRect(begin, top, Math.max(end - begin, ratio), height);
        context.fillStyle = alpha(colour(lane), 0.22);
        context.fillRect(warm, top, Math.max(end - warm, ratio), height);
        context.fillStyle = theme.text;
        const room = Math.min(end, u.bbox.left + u.bbox.width) - Math.max(begin, u.bbox.left) - 8 * ratio;
        if (context.measureText(name).width <= room)
          context.fillText(name, Math.max(begin, u.bbox.left) + 4 * ratio, top + height / 2);
      }
      context.restore();
    };
    const { holder, options } = overTime("strip", STRIP_HEIGHT, {
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: axes(times, () => []),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [names] },
    });
    add(new uPlot(options, [[0, axis.end], [0, 0]], holder));
  }

  function drawHeat(map) {
    const rows = groups(map.table)[0].rows, levels = map.levels;
    const most = Math.max(...rows.flatMap((row) => row.slice(1).map((count) => count ?? 0)));
    const cells = (u) => {
      const context = u.ctx, { left, top, width, height } = u.bbox;
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      for (const row of rows) {
        const begin = u.valToPos(row[0], "x", true), end = u.valToPos(row[0] + map.length, "x", true);
        for (let level = 0; level + 1 < row.length; level++) {
          if (!row[level + 1]) continue;
          const [low, high] = [levels[level], levels[level + 1]].map((edge) => u.valToPos(edge, "y", true));
          context.fillStyle = alpha(theme.accent, 0.15 + 0.85 * (Math.log1p(row[level + 1]) / Math.log1p(most)));
          context.fillRect(begin, high, Math.max(end - begin - 0.5, 1), low - high - 0.5);
        }
      }
      context.restore();
    };
    const units = (u, splits) => splits.map((split) => (split === null ? "" : withUnit(split, "ms")));
    const { holder, options } = overTime(map.id, HEAT_HEIGHT, {
      scales: { x: { time: false }, y: { distr: 3, range: [levels[0], levels[levels.length - 1]] } },
      axes: axes(times, units, true),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { drawClear: [shade], draw: [cells] },
    });
    const xs = [...new Set([0, ...rows.map((row) => row[0]), axis.end])].sort((one, other) => one - other);
    add(new uPlot(options, [xs, xs.map(() => levels[0])], holder));
  }

  // Percentiles: the axis is the logarithm of the share of operations above.
  function drawCurves(chart) {
    const holder = holderOf(chart.id), legend = holder.nextElementSibling;
    const tail = (q) => -Math.log10(1 - q / 100);
    const lines = [...byId(chart.table).tBodies[0].rows].map((row) => ({
      label: row.cells[0].textContent,
      values: Array.from(row.cells).slice(1).map((cell) => (cell.textContent === "" ? null : Number(cell.textContent))),
    }));
    const ticks = [50, 90, 99, 99.9, 99.99, 99.999].filter((q) => q <= Math.max(...chart.q) + 1e-9);
    const units = (u, splits) => splits.map((split) => (split === null ? "" : withUnit(split, "ms")));
    const [x, y] = axes(() => ticks.map((q) => `p${q}`), units, true);
    const outputs = [];
    const plot = new uPlot({
      width: Math.max(holder.clientWidth, 200),
      height: CURVES_HEIGHT,
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      padding: [6, 28, 0, 0],
      scales: {
        x: { time: false },
        y: { distr: 3, range: (u, min, max) => (min > 0 ? uPlot.rangeLog(min, max, 10, false) : [1, 10]) },
      },
      axes: [{ ...x, splits: () => ticks.map(tail) }, y],
      series: [{}, ...lines.map((_, number) => ({
        stroke: colour(number), width: number ? 1.3 : 2.2, points: { show: false },
      }))],
      hooks: { setCursor: [(u) => {
        const index = u.cursor.idx;
        outputs.forEach((output, number) => {
          const found = index == null ? null : lines[number].values[index];
          output.textContent = found == null ? "" : `p${Number(chart.q[index].toPrecision(5))} ${withUnit(found, "ms")}`;
        });
      }] },
    }, [chart.q.map(tail), ...lines.map((line) => line.values)], holder);
    legend.replaceChildren();
    lines.forEach(({ label }, lane) => outputs.push(item(legend, { style: "line", lane }, label)));
    add(plot);
  }

  // What is to be drawn: the place, its height, and the function that draws it.
  const drawings = [
    ...(axis ? [["strip", STRIP_HEIGHT, drawStrip]] : []),
    ...(axis ? charts.map((chart) => [chart.id, HEIGHT, () => drawLines(chart)]) : []),
    ...(axis ? heat.map((map) => [map.id, HEAT_HEIGHT, () => drawHeat(map)]) : []),
    ...curves.map((chart) => [chart.id, CURVES_HEIGHT, () => drawCurves(chart)]),
  ].map(([id, height, render]) => ({ holder: holderOf(id), height, render }));
  let waiting = [];
  function draw() {
    for (const plot of plots) plot.destroy();
    plots = [];
    waiting = [];
    readTheme();
    for (const { render } of drawings) render();
  }

  // At first, only what is in the window is drawn at once, so that the page opens sooner; the rest follows after
  // the first frame, one by one, so that the page can be used meanwhile.
  function drawFirst() {
    readTheme();
    for (const { holder, height } of drawings) holder.style.minHeight = `${height}px`;
    const isSeen = ({ holder }) => holder.getBoundingClientRect().top < innerHeight;
    const seen = drawings.filter(isSeen);
    waiting = drawings.filter((each) => !seen.includes(each));
    for (const { render } of seen) render();
    requestAnimationFrame(() => setTimeout(drawNext));
  }
  function drawNext() {
    waiting.shift()?.render();
    if (waiting.length) setTimeout(drawNext);
  }

  function add(plot) {
    plots.push(plot);
    if (shown) showIn(plot);
  }

  // The selection shows one task, or the whole race.
  const zoom = byId("zoom");
  const show = () => plots.forEach(showIn);
  function showIn(plot) {
    if (plot.cursor.sync?.key === "race") plot.setScale("x", { min: shown?.[0] ?? 0, max: shown?.[1] ?? axis.end });
  }
  zoom?.addEventListener("change", () => {
    const band = axis.bands[zoom.value === "" ? -1 : Number(zoom.value)];
    shown = band ? [band[1], Math.max(band[2], band[1] + 0.001)] : null;
    show();
  });
  drawFirst();

  // The cursor with the keyboard.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const plot = plots.find((each) => each.root.parentElement === event.target);
    if (!step || !plot) return;
    event.preventDefault();
    const xs = plot.data[0], { min, max } = plot.scales.x;
    let index = plot.cursor.idx ?? (step > 0 ? -1 : xs.length);
    do index += step; while (xs[index] < min || xs[index] > max);
    if (xs[index] === undefined) return;
    plot.setCursor({ left: plot.valToPos(xs[index], "x"), top: 0 }, true, true);
    const legend = event.target.nextElementSibling;
    const values = legend ? [...legend.children].map((entry) => entry.textContent.trim()).join(", ") : "";
    const spoken = byId("spoken");
    if (spoken) spoken.textContent = `${byId("reading").textContent}: ${values}`;
  });

  // New widths, colours, and paper, which is always light.
  let width = innerWidth, pending = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(pending);
    pending = setTimeout(draw, 100);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    draw();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.theme;
    draw();
  });
})();
