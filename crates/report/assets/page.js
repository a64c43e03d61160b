// The list of queries and the timeline. Texts from outside are placed with textContent only.
"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("ipw-data").textContent);
  root.classList.add("js");

  // What stands where in a line; the page's writer has the same order.
  const INDEX = 0, SUBJECT = 1, OUTCOME = 2, VERDICT = 3, START = 4, END = 5, SECONDS = 6, FIRST = 7,
    INPUT = 8, OUTPUT = 9, JOULES = 10, SIGMA = 11, FLAGS = 12, PROMPT = 13, ANSWER = 14, EXPECTED = 15,
    REASONING = 16, ERROR = 17, ABOVE = 18, REASON = 19, SLO = 20, SHARES = 21;
  const ESTIMATED = 32, ANSWERED = 64;
  const lines = data.lines;
  const known = (value) => value !== null && value !== undefined;
  const named = (place) => (known(place) ? data.names[place] : null);

  // Numbers as people read them.
  const digits = (value) => {
    const size = Math.abs(value);
    if (size < 1e-12) return "0";
    if (size >= 99.95) return value.toFixed(0);
    if (size < 1e-4) return value.toExponential(2);
    return value.toFixed(Math.min(6, 2 - Math.floor(Math.log10(size))));
  };
  const SCALES = {
    s: [[0.0009995, 1e6, "µs"], [0.9995, 1e3, "ms"], [Infinity, 1, "s"]],
    J: [[0.9995, 1e3, "mJ"], [9999.5, 1, "J"], [Infinity, 1e-3, "kJ"]],
    W: [[0.9995, 1e3, "mW"], [Infinity, 1, "W"]],
  };
  const scale = (value, unit) => SCALES[unit].find(([most]) => Math.abs(value) < most);
  const quantity = (value, unit) => {
    if (!known(value)) return "n/a";
    const [, factor, name] = scale(value, unit);
    return `${digits(value * factor)} ${name}`;
  };
  const giveOrTake = (value, sigma, unit) => {
    if (!known(value) || !known(sigma)) return quantity(value, unit);
    const [, factor, name] = scale(value, unit);
    return `${digits(value * factor)} ± ${digits(sigma * factor)} ${name}`;
  };
  const grouped = (count) => (known(count) ? String(count).replace(/\B(?=(\d{3})+(?!\d)(?<=\d{5,}))/g, "\u202f") : "n/a");
  const isFailed = (line) => (line[FLAGS] & ANSWERED) === 0;
  const state = (line) => (isFailed(line) ? "failed" : line[VERDICT] === 1 ? "right" : line[VERDICT] === 0 ? "wrong" : "ungraded");
  const VERDICTS = { right: "✓ right", wrong: "✗ wrong", ungraded: "– not graded" };
  const verdict = (line) => (line[VERDICT] === 1 ? "right" : line[VERDICT] === 0 ? "wrong" : "ungraded");

  // Control characters and marks that turn the writing are shown as what they are: not text.
  const plain = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (known(text)) made.textContent = plain(text);
    return made;
  };

  // Theme.
  for (const choice of document.querySelectorAll("input[name=theme]")) {
    choice.addEventListener("change", () => {
      root.dataset.theme = choice.value;
      redraw();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  addEventListener("beforeprint", () => {
    for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
  });

  // Where the reader is.
  const entries = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const watched = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      for (const link of entries.values()) link.removeAttribute("aria-current");
      entries.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section")) watched.observe(section);

  // The list of queries.
  const PAGE = 50;
  const list = byId("list");
  const view = { found: lines, page: 0, key: "index", down: false, chips: new Set(), words: "" };
  const opened = new Set();
  const KEYS = {
    index: (line) => line[INDEX],
    subject: (line) => named(line[SUBJECT]),
    prompt: (line) => line[PROMPT],
    verdict: (line) => (known(line[VERDICT]) ? line[VERDICT] : null),
    outcome: (line) => named(line[OUTCOME]),
    seconds: (line) => line[SECONDS],
    first: (line) => line[FIRST],
    tokens: (line) => line[OUTPUT],
    joules: (line) => line[JOULES],
  };
  const CHIPS = {
    wrong: (line) => line[VERDICT] === 0,
    failed: isFailed,
    slow: (line) => line[SECONDS] > data.slow,
    costly: (line) => line[JOULES] > data.costly,
  };
  const haystacks = new Map();
  const haystack = (line) => {
    let text = haystacks.get(line);
    if (text === undefined) {
      const all = [line[PROMPT], line[ANSWER], line[EXPECTED], line[REASONING], line[ERROR], named(line[SUBJECT]), named(line[OUTCOME])];
      text = all.filter(known).join("\n").toLowerCase();
      haystacks.set(line, text);
    }
    return text;
  };

  const find = () => {
    const words = view.words.toLowerCase().split(/\s+/).filter(Boolean);
    const chips = [...view.chips].map((name) => CHIPS[name]);
    view.found = lines.filter((line) => chips.every((fits) => fits(line)) && words.every((word) => haystack(line).includes(word)));
    const key = KEYS[view.key];
    const turn = view.down ? -1 : 1;
    // What is not known comes last, whichever way.
    view.found.sort((one, two) => {
      const [a, b] = [key(one), key(two)];
      if (!known(a) || !known(b)) return known(b) - known(a);
      return turn * (typeof a === "string" ? a.localeCompare(b) : a - b) || one[INDEX] - two[INDEX];
    });
    view.page = 0;
    show();
  };

  const cell = (line, className, label, text) => {
    const made = element("td", className);
    made.dataset.label = label;
    made.append(element("bdi", null, text));
    return made;
  };

  const row = (line) => {
    const made = element("tr");
    made.dataset.index = line[INDEX];
    const subject = cell(line, "", "Subject", "");
    // Names break at their seams.
    (named(line[SUBJECT]) ?? "–").split(/(?<=[_/.-])/).forEach((piece) => subject.firstChild.append(plain(piece), element("wbr")));
    made.append(cell(line, "number", "#", line[INDEX]), subject);
    const prompt = element("td", "prompt");
    prompt.dataset.label = "Prompt";
    const open = element("button", "open");
    open.type = "button";
    const shown = data.redacted ? "(redacted)" : (line[PROMPT] ?? "").replace(/\s+/g, " ").trim().slice(0, 140);
    open.append(element("bdi", null, shown || "(empty)"));
    open.setAttribute("aria-expanded", String(opened.has(line)));
    open.addEventListener("click", () => toggle(line, made, open));
    prompt.append(open);
    made.append(prompt, cell(line, verdict(line), "Verdict", VERDICTS[verdict(line)]));
    made.append(cell(line, isFailed(line) ? "failed" : "", "Outcome", named(line[OUTCOME])));
    made.append(cell(line, "number", "Time", quantity(line[SECONDS], "s")), cell(line, "number", "First token", quantity(line[FIRST], "s")));
    made.append(cell(line, "number", "Tokens in / out", `${grouped(line[INPUT])} / ${grouped(line[OUTPUT])}`));
    const energy = cell(line, line[FLAGS] & ESTIMATED ? "number is-estimated" : "number", "Energy ± σ", (line[FLAGS] & ESTIMATED && known(line[JOULES]) ? "~" : "") + quantity(line[JOULES], "J"));
    if (known(line[JOULES]) && known(line[SIGMA])) energy.append(element("span", "detail", `± ${quantity(line[SIGMA], "J")}`));
    if (!known(line[JOULES]) && known(line[REASON])) energy.append(element("span", "detail", named(line[REASON])));
    made.append(energy);
    return made;
  };

  const toggle = (line, made, open) => {
    if (opened.delete(line)) {
      made.nextElementSibling.remove();
    } else {
      opened.add(line);
      made.after(detail(line));
    }
    open.setAttribute("aria-expanded", String(opened.has(line)));
  };

  const detail = (line) => {
    const made = element("tr", "detail-row");
    const inside = element("td");
    inside.colSpan = 9;
    const texts = element("div", "texts");
    [["Prompt", PROMPT], ["Answer", ANSWER], ["Expected", EXPECTED], ["Reasoning", REASONING], ["Error", ERROR]].forEach(([name, place], bit) => {
      if (!known(line[place])) return;
      const box = element("div");
      const text = element("pre", null, line[place] || "(empty)");
      text.tabIndex = 0;
      text.dir = "auto";
      text.setAttribute("aria-label", name);
      box.append(element("h3", null, name), text);
      if (line[FLAGS] & (1 << bit)) box.append(element("span", "cut", "Shortened here; the run has all of it."));
      texts.append(box);
    });
    const numbers = element("dl", "numbers");
    const add = (name, value) => {
      const box = element("div");
      box.append(element("dt", null, name), element("dd", null, value));
      numbers.append(box);
    };
    add("Time", quantity(line[SECONDS], "s"));
    add("To first token", quantity(line[FIRST], "s"));
    if (known(line[START])) add("Began", `${digits(line[START])} s into the run`);
    if (known(line[OUTPUT]) && line[SECONDS] > 0) add("Speed", `${digits(line[OUTPUT] / line[SECONDS])} tokens/s`);
    const how = line[FLAGS] & ESTIMATED ? " (estimated)" : "";
    add("Energy", known(line[JOULES]) ? giveOrTake(line[JOULES], line[SIGMA], "J") + how : `n/a: ${named(line[REASON]) ?? "not known"}`);
    if (known(line[ABOVE])) add("Above idle", quantity(line[ABOVE], "J"));
    if (known(line[SLO])) add("Limits", line[SLO] ? "kept" : "missed");
    for (const [name, method, joules, sigma, coverage, why] of line[SHARES] ?? []) {
      const parts = [known(joules) ? giveOrTake(joules, sigma, "J") : "n/a", named(method)];
      if (known(coverage)) parts.push(`${digits(coverage * 100)} % covered`);
      if (known(why)) parts.push(named(why));
      add(named(name), parts.join(", "));
    }
    if (texts.childElementCount) inside.append(texts);
    inside.append(numbers);
    made.append(inside);
    return made;
  };

  const show = () => {
    const pages = Math.max(1, Math.ceil(view.found.length / PAGE));
    view.page = Math.min(view.page, pages - 1);
    const rows = view.found.slice(view.page * PAGE, (view.page + 1) * PAGE);
    const body = byId("rows");
    body.replaceChildren(...rows.flatMap((line) => (opened.has(line) ? [row(line), detail(line)] : [row(line)])));
    for (const head of list.querySelectorAll("th[data-key]")) {
      const sort = head.dataset.key !== view.key ? "none" : view.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", sort);
    }
    byId("sort").value = view.key;
    byId("page-of").textContent = `Page ${view.page + 1} of ${pages}`;
    byId("pager").querySelector("[data-page=back]").disabled = view.page === 0;
    byId("pager").querySelector("[data-page=on]").disabled = view.page + 1 >= pages;
    const all = view.found.length === lines.length;
    byId("matches").textContent = all ? `${grouped(lines.length)} queries` : `${grouped(view.found.length)} of ${grouped(lines.length)} queries match`;
  };

  const sortBy = (key) => {
    view.down = view.key === key ? !view.down : ["seconds", "first", "tokens", "joules"].includes(key);
    view.key = key;
    find();
  };

  /** Opens a query in the list, wherever it is. */
  const reveal = (line) => {
    if (!view.found.includes(line)) {
      view.words = "";
      view.chips.clear();
      byId("search").value = "";
      for (const chip of document.querySelectorAll("[data-chip]")) chip.setAttribute("aria-pressed", "false");
      find();
    }
    opened.add(line);
    view.page = Math.floor(view.found.indexOf(line) / PAGE);
    show();
    const open = byId("rows").querySelector(`tr[data-index="${line[INDEX]}"] .open`);
    open.focus();
    open.scrollIntoView({ block: "center" });
  };

  if (list) {
    for (const head of list.querySelectorAll("th[data-key]")) {
      const button = element("button", null, head.textContent);
      button.type = "button";
      button.addEventListener("click", () => sortBy(head.dataset.key));
      head.replaceChildren(button);
    }
    byId("sort").addEventListener("change", (event) => sortBy(event.target.value));
    let waiting = 0;
    byId("search").addEventListener("input", (event) => {
      view.words = event.target.value;
      clearTimeout(waiting);
      waiting = setTimeout(find, 80);
    });
    for (const chip of document.querySelectorAll("[data-chip]")) {
      chip.addEventListener("click", () => {
        const name = chip.dataset.chip;
        if (!view.chips.delete(name)) view.chips.add(name);
        chip.setAttribute("aria-pressed", String(view.chips.has(name)));
        find();
      });
    }
    for (const button of byId("pager").querySelectorAll("button")) {
      button.addEventListener("click", () => {
        view.page += button.dataset.page === "on" ? 1 : -1;
        show();
        list.scrollIntoView({ block: "start" });
      });
    }
    addEventListener("keydown", (event) => {
      const typing = event.target instanceof Element && event.target.matches("input[type=search], select, textarea");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      byId("search").focus();
    });
    find();
  }

  // The timeline.
  const canvas = byId("canvas");
  let redraw = () => {};
  if (canvas) drawTimeline();

  function drawTimeline() {
    const whole = data.timeline.seconds;
    const range = { from: 0, until: whole };
    const LEFT = 52, RIGHT = 8, TOP = 10, AXIS = 24, LANES = 24;
    const bars = placed();
    const laneCount = bars.reduce((most, bar) => Math.max(most, bar.lane + 1), 0);
    let cursor = null;
    let hovered = null;

    /** Each query in the first lane that is free when it begins. */
    function placed() {
      const ends = [];
      return lines
        .filter((line) => known(line[START]) && known(line[END]))
        .sort((one, two) => one[START] - two[START])
        .map((line, number) => {
          let lane = ends.findIndex((end) => end <= line[START]);
          if (lane < 0) lane = ends.length < LANES ? ends.push(0) - 1 : number % LANES;
          ends[lane] = Math.max(ends[lane], line[END]);
          return { line, lane };
        });
    }

    const shape = () => {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const hasPower = data.timeline.series.length > 0;
      const below = laneCount === 0 ? 0 : hasPower ? Math.min(height * 0.4, 10 + laneCount * 14) : height - TOP - AXIS;
      const power = hasPower ? height - TOP - AXIS - below - (below ? 12 : 0) : 0;
      return { width, height, power, lanes: TOP + power + (power ? 12 : 0), below };
    };
    const toX = (at, width) => LEFT + ((at - range.from) / (range.until - range.from)) * (width - LEFT - RIGHT);
    const toTime = (x, width) => range.from + ((x - LEFT) / (width - LEFT - RIGHT)) * (range.until - range.from);

    const steps = (from, until, most) => {
      const rough = (until - from) / most;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
      const all = [];
      for (let at = Math.ceil(from / step) * step; at <= until + step * 1e-9; at += step) all.push(at);
      return { all, places: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
    };

    const highest = () => {
      let most = 0;
      for (const series of data.timeline.series) {
        for (const segment of series.segments) {
          segment.max.forEach((watts, place) => {
            const at = segment.start + place * segment.width;
            if (known(watts) && at + segment.width >= range.from && at <= range.until) most = Math.max(most, watts);
          });
        }
      }
      return (most || 1) * 1.1;
    };

    redraw = () => {
      const ratio = devicePixelRatio || 1;
      const { width, height, power, lanes, below } = shape();
      if (!width) return;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const style = getComputedStyle(root);
      const colour = (name) => style.getPropertyValue(name).trim();
      pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      const x = (at) => toX(at, width);
      const most = highest();
      const y = (watts) => TOP + power * (1 - watts / most);

      const times = steps(range.from, range.until, Math.max(2, width / 110));
      pen.fillStyle = colour("--ipw-soft");
      pen.strokeStyle = colour("--ipw-grid");
      pen.lineWidth = 1;
      pen.textAlign = "center";
      for (const at of times.all) {
        line(pen, x(at), TOP, x(at), height - AXIS);
        pen.fillText(`${at.toFixed(times.places)} s`, Math.min(x(at), width - 22), height - 7);
      }
      if (power) {
        pen.textAlign = "right";
        const watts = steps(0, most, 4);
        for (const at of watts.all) {
          line(pen, LEFT, y(at), width - RIGHT, y(at));
          pen.fillText(`${at.toFixed(watts.places)} W`, LEFT - 6, y(at) + 4);
        }
      }
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, width - LEFT - RIGHT, height - AXIS);
      pen.clip();
      data.timeline.parts.slice(1).forEach((at) => {
        pen.setLineDash([2, 3]);
        pen.strokeStyle = colour("--ipw-soft");
        line(pen, x(at), TOP, x(at), height - AXIS);
        pen.setLineDash([]);
      });
      data.timeline.series.forEach((series, place) => curve(pen, series, colour(`--ipw-series-${(place % 7) + 1}`), x, y, width));
      const lane = below ? below / laneCount : 0;
      for (const bar of bars) {
        if (bar.line[END] < range.from || bar.line[START] > range.until) continue;
        draw(pen, bar, x, lanes + bar.lane * lane, Math.min(14, lane * 0.72), colour);
      }
      if (cursor !== null) {
        pen.strokeStyle = colour("--accent");
        pen.lineWidth = 1.5;
        line(pen, x(cursor), TOP, x(cursor), height - AXIS);
      }
      pen.restore();
      canvas.dataset.from = range.from;
      canvas.dataset.until = range.until;
    };

    const line = (pen, ax, ay, bx, by) => {
      pen.beginPath();
      pen.moveTo(ax, ay);
      pen.lineTo(bx, by);
      pen.stroke();
    };

    /** The buckets of a segment as they can be told apart at this width: min, mean and max of each. */
    const visible = (segment, width) => {
      const perPixel = (range.until - range.from) / (width - LEFT - RIGHT) / segment.width;
      const every = Math.max(1, Math.floor(perPixel));
      const first = Math.max(0, Math.floor((range.from - segment.start) / segment.width) - every);
      const last = Math.min(segment.mean.length, Math.ceil((range.until - segment.start) / segment.width) + every);
      const all = [];
      for (let place = first - (first % every); place < last; place += every) {
        let [min, max, sum, count] = [Infinity, -Infinity, 0, 0];
        for (let one = place; one < Math.min(last, place + every); one += 1) {
          if (!known(segment.mean[one])) continue;
          min = Math.min(min, segment.min[one]);
          max = Math.max(max, segment.max[one]);
          sum += segment.mean[one];
          count += 1;
        }
        all.push(count ? { at: segment.start + (place + every / 2) * segment.width, min, max, mean: sum / count } : null);
      }
      return all;
    };

    const curve = (pen, series, colour, x, y, width) => {
      pen.strokeStyle = colour;
      pen.fillStyle = colour;
      for (const segment of series.segments) {
        const points = visible(segment, width);
        let run = [];
        const flush = () => {
          if (run.length) {
            pen.globalAlpha = 0.2;
            pen.beginPath();
            run.forEach((point, place) => pen[place ? "lineTo" : "moveTo"](x(point.at), y(point.max)));
            [...run].reverse().forEach((point) => pen.lineTo(x(point.at), y(point.min)));
            pen.fill();
            pen.globalAlpha = 1;
            pen.lineWidth = 1.75;
            pen.setLineDash(series.estimated ? [6, 4] : []);
            pen.beginPath();
            run.forEach((point, place) => pen[place ? "lineTo" : "moveTo"](x(point.at), y(point.mean)));
            pen.stroke();
            pen.setLineDash([]);
          }
          run = [];
        };
        for (const point of points) point ? run.push(point) : flush();
        flush();
      }
      if (known(series.idle)) {
        pen.setLineDash([1, 4]);
        line(pen, LEFT, y(series.idle), width, y(series.idle));
        pen.setLineDash([]);
      }
    };

    /** A bar by colour and by shape: full, outlined, thin, crossed. */
    const draw = (pen, bar, x, top, height, colour) => {
      const kind = state(bar.line);
      const left = x(bar.line[START]);
      const width = Math.max(1.5, x(bar.line[END]) - left - 1);
      pen.fillStyle = pen.strokeStyle = colour(`--${kind}`);
      pen.lineWidth = 1.5;
      if (kind === "right" || width < 4) pen.fillRect(left, top, width, height);
      else if (kind === "ungraded") pen.fillRect(left, top + height / 3, width, Math.max(2, height / 3));
      else {
        pen.strokeRect(left + 0.75, top + 0.75, width - 1.5, height - 1.5);
        if (kind === "failed") line(pen, left, top + height, left + width, top);
      }
      if (bar === hovered) {
        pen.strokeStyle = colour("--ipw-ink");
        pen.strokeRect(left - 1, top - 1, width + 2, height + 2);
      }
    };

    const powerAt = (at) => data.timeline.series.flatMap((series) => {
      for (const segment of series.segments) {
        const watts = segment.mean[Math.floor((at - segment.start) / segment.width)];
        if (known(watts)) return [`${series.name} ${quantity(watts, "W")}${series.estimated ? " (estimated)" : ""}`];
      }
      return [];
    });
    const about = (bar) => {
      const { line } = bar;
      const prompt = data.redacted ? "" : ` “${(line[PROMPT] ?? "").replace(/\s+/g, " ").slice(0, 60)}”`;
      return `query ${line[INDEX]}${prompt}: ${state(line) === "failed" ? named(line[OUTCOME]) : VERDICTS[verdict(line)].slice(2)}, ${quantity(line[SECONDS] ?? line[END] - line[START], "s")}, ${quantity(line[JOULES], "J")}`;
    };
    const told = (at, bar) => {
      const parts = [`${digits(at)} s`, ...powerAt(at)];
      if (bar) parts.push(about(bar));
      return parts.join(" · ");
    };
    const barAt = (at, y) => {
      const { lanes, below } = shape();
      const lane = Math.floor((y - lanes) / (below / laneCount));
      const slack = ((range.until - range.from) / canvas.clientWidth) * 2;
      const under = bars.filter((bar) => bar.line[START] - slack <= at && at <= bar.line[END] + slack);
      return under.find((bar) => bar.lane === lane) ?? (y < lanes ? under[0] : undefined) ?? null;
    };

    const setRange = (from, until) => {
      const least = Math.min(whole, 0.002);
      const length = Math.min(whole, Math.max(least, until - from));
      range.from = Math.min(Math.max(0, from), whole - length);
      range.until = range.from + length;
      redraw();
    };
    const zoom = (factor, at = (range.from + range.until) / 2) => {
      setRange(at - (at - range.from) * factor, at + (range.until - at) * factor);
    };
    const pan = (share) => {
      const by = (range.until - range.from) * share;
      setRange(range.from + by, range.until + by);
    };
    const ACTS = { in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), all: () => setRange(0, whole) };
    const say = (text) => { byId("spoken").textContent = plain(text); };
    const sayRange = () => say(`showing ${digits(range.from)} to ${digits(range.until)} seconds`);
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => { ACTS[button.dataset.zoom](); sayRange(); });
    }

    const step = (by) => {
      if (!bars.length) return;
      const place = hovered ? bars.indexOf(hovered) + by : by > 0 ? 0 : bars.length - 1;
      hovered = bars[Math.min(bars.length - 1, Math.max(0, place))];
      cursor = hovered.line[START];
      if (cursor < range.from || cursor > range.until) {
        const half = (range.until - range.from) / 2;
        setRange(cursor - half, cursor + half);
      }
      byId("readout").textContent = plain(told(cursor, hovered));
      say(told(cursor, hovered));
      redraw();
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const acts = { "+": "in", "=": "in", "-": "out", "_": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };
      if (acts[event.key]) { ACTS[acts[event.key]](); sayRange(); }
      else if (event.key === "]") step(1);
      else if (event.key === "[") step(-1);
      else if (event.key === "Enter" && hovered) reveal(hovered.line);
      else return;
      event.preventDefault();
    });

    const pointers = new Map();
    let moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, place(event));
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const before = pointers.get(event.pointerId);
      const width = canvas.clientWidth;
      if (before && pointers.size === 1) {
        const by = toTime(before[0], width) - toTime(x, width);
        moved += Math.abs(x - before[0]);
        pointers.set(event.pointerId, [x, y]);
        if (moved > 3) { canvas.classList.add("dragged"); setRange(range.from + by, range.until + by); }
      } else if (before && pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const [was, is] = [Math.abs(before[0] - other[0]), Math.abs(x - other[0])];
        pointers.set(event.pointerId, [x, y]);
        moved += 4;
        if (was > 8 && is > 8) zoom(was / is, toTime((x + other[0]) / 2, width));
      }
      const at = Math.min(Math.max(toTime(x, width), 0), whole);
      cursor = at;
      hovered = barAt(at, y);
      byId("readout").textContent = plain(told(at, hovered));
      redraw();
    });
    const release = (event) => {
      pointers.delete(event.pointerId);
      canvas.classList.remove("dragged");
    };
    canvas.addEventListener("pointerup", (event) => {
      if (moved <= 3 && pointers.size === 1) canvas.focus({ preventScroll: true });
      release(event);
    });
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { cursor = null; redraw(); });
    canvas.addEventListener("dblclick", (event) => {
      const [x, y] = place(event);
      const bar = barAt(toTime(x, canvas.clientWidth), y);
      if (bar && y > shape().lanes) reveal(bar.line);
      else setRange(0, whole);
    });
    canvas.addEventListener("wheel", (event) => {
      // A page that scrolls must not be caught: only with Ctrl, or when the drawing was chosen.
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) * 0.004), toTime(place(event)[0], canvas.clientWidth));
    }, { passive: false });
    new ResizeObserver(() => redraw()).observe(canvas);
    redraw();
  }
})();
