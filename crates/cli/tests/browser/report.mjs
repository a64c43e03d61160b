// Does with a report what a reader does.
const cells = (page, column) => page.locator(`#rows > tr:not(.detail-row) > td:nth-child(${column})`).allTextContents();
const matches = (page) => page.locator("#matches").textContent();

// As most people see it.
{
  const page = await open();
  check("it has one heading of the first rank", (await page.locator("h1").count()) === 1);
  check("it has its landmarks", await page.evaluate(() => ["header", "nav[aria-label]", "main", "footer"].every((one) => document.querySelector(one))));
  check("every section has a name", await page.evaluate(() => [...document.querySelectorAll("section")].every((one) => document.getElementById(one.getAttribute("aria-labelledby")))));
  check("ids are unique", await page.evaluate(() => new Set([...document.querySelectorAll("[id]")].map((one) => one.id)).size === document.querySelectorAll("[id]").length));
  check("controls have names", await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas")].every((one) => one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length)));
  check("table heads have a scope", await page.evaluate(() => [...document.querySelectorAll("th")].every((one) => one.scope)));
  check("headings do not skip a rank", await page.evaluate(() => {
    const ranks = [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.tagName[1]));
    return ranks.every((rank, place) => place === 0 || rank - ranks[place - 1] <= 1);
  }));
  check("every anchor leads somewhere", await page.evaluate(() => [...document.querySelectorAll("a[href^='#']")].every((one) => document.getElementById(one.hash.slice(1)))));

  // Nothing from outside became markup.
  const strangers = await page.evaluate(() => document.querySelectorAll("img, iframe, object, embed, form, audio, video, base, body script:not(#ipw-data):not(:last-of-type), [onerror], [onload], [onclick], [style]").length);
  check("no element from outside", strangers === 0, String(strangers));
  check("no writing is turned round", await page.evaluate(() => {
    const clone = document.body.cloneNode(true);
    clone.querySelectorAll("svg, script").forEach((one) => one.remove());
    return !/[\u202a-\u202e\u2066-\u2069\u0000]/.test(clone.textContent);
  }));
  // Our figures set words of other directions apart (U+2068, U+2069); nothing else may be there.
  check("no writing is turned round in figures", await page.evaluate(() => [...document.querySelectorAll("svg")].every((one) => !/[\u202a-\u202e\u2066\u2067\u0000]/.test(one.textContent))));
  check("no script from outside ran", await page.evaluate(() => window.hacked === undefined));

  // Sort.
  const rows = await page.locator("#rows > tr").count();
  check("there are rows", rows > 0);
  const head = page.locator("th[data-key=seconds]");
  await head.locator("button").click();
  check("the head says how it sorts", (await head.getAttribute("aria-sort")) === "descending");
  const seconds = (text) => (text.includes("n/a") ? -1 : parseFloat(text) * (text.includes("µs") ? 1e-6 : text.includes("ms") ? 1e-3 : 1));
  const times = (await cells(page, 6)).map(seconds);
  check("the slowest come first", times.every((one, place) => place === 0 || times[place - 1] >= one), times);
  await head.locator("button").press("Enter");
  check("Enter turns the order round", (await head.getAttribute("aria-sort")) === "ascending");
  await page.locator("th[data-key=index] button").click();

  // Search.
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("/");
  check("/ goes to the search", await page.evaluate(() => document.activeElement.id === "search"));
  await page.keyboard.type("zzzz no such text");
  await page.waitForFunction(() => document.getElementById("matches").textContent.startsWith("0 of"));
  check("what is not there is not found", (await page.locator("#rows > tr").count()) === 0);
  const word = await page.evaluate(() => JSON.parse(document.getElementById("ipw-data").textContent).lines[0][13]?.split(/\s+/).find((one) => /^[A-Za-z0-9]{2,}$/.test(one)));
  if (word) {
    await page.locator("#search").fill(word);
    await page.waitForFunction(() => !document.getElementById("matches").textContent.startsWith("0 of"));
    check("what is there is found", (await page.locator("#rows > tr").count()) > 0);
  }
  await page.locator("#search").fill("");
  await page.waitForFunction(() => !document.getElementById("matches").textContent.includes("match"));

  // Filter.
  for (const chip of await page.locator("[data-chip]").all()) {
    await chip.click();
    check("a chip is pressed", (await chip.getAttribute("aria-pressed")) === "true");
    const [some, of] = (await matches(page)).replace(/\u202f/g, "").match(/\d+/g).map(Number);
    check("a chip shows fewer", of === undefined || some <= of, await matches(page));
    if ((await chip.getAttribute("data-chip")) === "wrong") {
      check("only wrong ones are left", (await cells(page, 4)).every((one) => one.includes("wrong")));
    }
    await chip.click();
  }

  // Open a row.
  const first = page.locator("#rows .open").first();
  await first.focus();
  await page.keyboard.press("Enter");
  check("Enter opens a row", (await first.getAttribute("aria-expanded")) === "true" && (await page.locator(".detail-row").count()) === 1);
  check("an open row has its numbers", (await page.locator(".detail-row .numbers").count()) === 1);
  await shot(page, "light");
  await page.keyboard.press("Enter");
  check("Enter closes it again", (await page.locator(".detail-row").count()) === 0);

  // Zoom.
  const canvas = page.locator("#canvas");
  if (await canvas.count()) {
    const range = async () => canvas.evaluate((one) => Number(one.dataset.until) - Number(one.dataset.from));
    const whole = await range();
    await canvas.focus();
    await page.keyboard.press("+");
    check("+ zooms in", Math.abs((await range()) - whole / 2) < whole * 0.01, String(await range()));
    const from = await canvas.evaluate((one) => Number(one.dataset.from));
    await page.keyboard.press("ArrowLeft");
    check("the arrow moves", (await canvas.evaluate((one) => Number(one.dataset.from))) < from);
    await page.keyboard.press("-");
    await page.keyboard.press("0");
    check("0 shows the whole", Math.abs((await range()) - whole) < 1e-6);
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(...middle);
    await page.mouse.wheel(0, -300);
    await page.waitForFunction((was) => { const { from, until } = document.getElementById("canvas").dataset; return until - from < was * 0.9; }, whole);
    check("the wheel zooms", (await range()) < whole);
    const before = await canvas.evaluate((one) => Number(one.dataset.from));
    await page.mouse.down();
    await page.mouse.move(middle[0] + 120, middle[1], { steps: 4 });
    await page.mouse.up();
    check("dragging moves", (await canvas.evaluate((one) => Number(one.dataset.from))) < before);
    check("the pointer tells the time", /\d.* s/.test(await page.locator("#readout").textContent()));
    await canvas.focus();
    await page.keyboard.press("]");
    check("] goes to a query and says it", /query \d+/.test(await page.locator("#spoken").textContent()));
    await page.keyboard.press("Enter");
    check("Enter opens that query", await page.evaluate(() => document.activeElement.classList.contains("open")));
    await page.locator("[data-zoom=all]").click();
    check("the button shows the whole", Math.abs((await range()) - whole) < 1e-6);
    check("it drew something", await canvas.evaluate((one) => one.getContext("2d").getImageData(0, 0, one.width, one.height).data.some((byte) => byte !== 0)));
  }

  // Theme.
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  check("light: contrast", (await lowContrast(page)).length === 0, await lowContrast(page));
  await page.locator("input[value=dark]").check({ force: true });
  check("the theme switches", (await paper()) !== light);
  check("dark: contrast", (await lowContrast(page)).length === 0, await lowContrast(page));
  await page.evaluate(() => scrollTo(0, 0));
  await shot(page, "dark");
  await page.locator("input[value=light]").check({ force: true });
  check("and back", (await paper()) === light);
  check("no sideways scroll (wide)", (await sideways(page)).length === 0, await sideways(page));
  quiet(page, "wide");
  await page.context().close();
}

// The system's own choice.
{
  const page = await open({ colorScheme: "dark" });
  check("the system's dark is followed", await page.evaluate(() => getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"));
  quiet(page, "dark system");
  await page.context().close();
}

// A phone.
{
  const page = await open({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
  check("no sideways scroll (390 px)", (await sideways(page)).length === 0, await sideways(page));
  await page.locator("#rows .open").first().tap();
  check("a tap opens a row", (await page.locator(".detail-row").count()) === 1);
  check("no sideways scroll (390 px, open)", (await sideways(page)).length === 0, await sideways(page));
  check("contrast (phone)", (await lowContrast(page)).length === 0, await lowContrast(page));
  const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input[type=search]")].filter((one) => one.checkVisibility() && !one.closest(".unseen") && one.getBoundingClientRect().height < 24).map((one) => one.textContent));
  check("what is tapped is large enough", small.length === 0, small);
  await page.screenshot({ path: `${shots}/phone.png`, fullPage: false });
  await page.locator("#queries").scrollIntoViewIfNeeded();
  await page.locator("#queries h2").evaluate((one) => one.scrollIntoView());
  await page.screenshot({ path: `${shots}/phone-queries.png`, fullPage: false });
  quiet(page, "phone");
  await page.context().close();
}

// Paper.
{
  const page = await open({ colorScheme: "dark", viewport: { width: 794, height: 1123 } });
  await page.emulateMedia({ media: "print" });
  check("paper is light", await page.evaluate(() => getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"));
  check("nothing to press on paper", await page.evaluate(() => [".themes", ".list-tools", ".pager", ".live", ".contents"].every((one) => !document.querySelector(one)?.checkVisibility())));
  const still = page.locator(".still svg");
  check("the still drawing is printed", (await still.count()) === 0 || (await still.isVisible()));
  await shot(page, "print");
  quiet(page, "paper");
  await page.context().close();
}

// Without a script.
{
  const page = await open({ javaScriptEnabled: false });
  check("without a script the headline is there", (await page.locator(".card").count()) >= 5);
  check("without a script there are queries", (await page.locator("#rows > tr").count()) > 0);
  check("without a script there is a drawing", (await page.locator(".still svg").count()) <= 1 && !(await page.locator("#live").isVisible().catch(() => false)));
  check("without a script there is nothing that does nothing", !(await page.locator("#search").isVisible()));
  await page.context().close();
}

await conclude();
