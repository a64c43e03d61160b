// Does with the page of a comparison or of a leaderboard what a reader does.
const name = file.split("/").pop().replace(/\.html$/, "");
const sane = async (page, where) => {
  check(`contrast (${where})`, (await lowContrast(page)).length === 0, await lowContrast(page));
  check(`no sideways scroll (${where})`, (await sideways(page)).length === 0, await sideways(page));
  quiet(page, where);
};

// As most people see it.
{
  const page = await open();
  check("it has one heading of the first rank", (await page.locator("h1").count()) === 1);
  check("table heads have a scope", await page.evaluate(() => [...document.querySelectorAll("th")].every((one) => one.scope)));
  check("headings do not skip a rank", await page.evaluate(() => {
    const ranks = [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.tagName[1]));
    return ranks.every((rank, place) => place === 0 || rank - ranks[place - 1] <= 1);
  }));
  check("ids are unique", await page.evaluate(() => new Set([...document.querySelectorAll("[id]")].map((one) => one.id)).size === document.querySelectorAll("[id]").length));
  check("what scrolls can be reached by keyboard", await page.evaluate(() => [...document.querySelectorAll(".scroll")].every((one) => one.tabIndex === 0 && one.getAttribute("aria-label"))));
  const strangers = await page.evaluate(() => document.querySelectorAll("img, iframe, object, embed, form, audio, video, base, [onerror], [onload], [onclick], [style]").length);
  check("no element from outside", strangers === 0, String(strangers));
  check("no script from outside ran", await page.evaluate(() => window.hacked === undefined));
  check("there are numbers", (await page.locator("tbody tr").count()) > 0);
  await shot(page, `${name}-light`);

  const board = page.locator("table.board").first();
  if (await board.count()) {
    const column = async (place) => board.locator(`tbody tr > *:nth-child(${place})`).evaluateAll((all) => all.map((one) => one.dataset.value).filter((one) => one !== undefined).map(Number));
    const heads = await board.locator("thead th").allTextContents();
    for (const [place, title] of heads.entries()) {
      if ((await column(place + 1)).length < 2) continue;
      const head = board.locator(`thead th:nth-child(${place + 1})`);
      await head.locator("button").click();
      check(`${title} says how it sorts`, (await head.getAttribute("aria-sort")) === "ascending");
      const up = await column(place + 1);
      check(`${title} goes up`, up.every((one, at) => at === 0 || up[at - 1] <= one), up);
      await head.locator("button").press("Enter");
      const down = await column(place + 1);
      check(`${title} goes down`, down.every((one, at) => at === 0 || down[at - 1] >= one), down);
      check("one column sorts at a time", (await board.locator("th[aria-sort]").count()) === 1);
    }
    const shown = () => page.locator("table.board tbody tr:visible").count();
    const all = await shown();
    await page.getByLabel("Show runs with").fill("zzzz no such run");
    check("what is not there is not shown", (await shown()) === 0);
    check("and counted", (await page.locator("[role=status]").textContent()) === `0 of ${all} runs`);
    await page.getByLabel("Show runs with").fill("");
    check("all come back", (await shown()) === all && all > 1, String(all));
    check("there is a figure", (await page.locator("figure svg").count()) >= 1);
  }
  await sane(page, "wide");
  await page.context().close();
}

for (const [where, options] of [
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }],
  ["no script", { javaScriptEnabled: false }],
]) {
  const page = await open(options);
  check(`there are numbers (${where})`, (await page.locator("tbody tr").count()) > 0);
  if (where === "no script") {
    check("without a script there is nothing that does nothing", (await page.locator("button, input").count()) === 0);
  } else {
    await sane(page, where);
    await shot(page, `${name}-${where}`);
  }
  await page.context().close();
}

await conclude();
