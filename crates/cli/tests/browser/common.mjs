// Begins every script that opens a page in a real browser. What fails is printed as JSON.
// node --input-type=module -e "$(cat common.mjs report.mjs)" -- CHROMIUM PAGE SCREENSHOTS
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";

const [executablePath, file, shots] = process.argv.slice(-3);
const address = pathToFileURL(file).href;
const done = [];
const broken = [];
const check = (what, fits, found = "") => (fits ? done.push(what) : broken.push(`${what}: ${typeof found === "string" ? found : JSON.stringify(found)}`));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

/** A page whose errors, dialogs and requests are watched. */
const open = async (options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.seen = { errors: [], requests: [], dialogs: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.seen.errors.push(message.text()));
  page.on("pageerror", (error) => page.seen.errors.push(String(error)));
  page.on("request", (request) => request.url() !== address && !request.url().startsWith("data:") && page.seen.requests.push(request.url()));
  page.on("dialog", (dialog) => { page.seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  await page.goto(address);
  return page;
};
const shot = (page, name, fullPage = true) => page.screenshot({ path: `${shots}/${name}.png`, fullPage });
const quiet = (page, where) => {
  check(`no console error (${where})`, page.seen.errors.length === 0, page.seen.errors);
  check(`no request (${where})`, page.seen.requests.length === 0, page.seen.requests);
  check(`no dialog (${where})`, page.seen.dialogs.length === 0, page.seen.dialogs);
};

/** Text nodes whose contrast with what lies behind them is too low. */
const lowContrast = (page) => page.evaluate(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, under) => ({
    r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1,
  });
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const bad = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    // A disabled control is not required to be read, and a hidden one is not.
    if (!element.checkVisibility() || element.closest("button:disabled")) continue;
    const back = behind(element);
    const [a, b] = [light(over(parse(getComputedStyle(element).color), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ${node.textContent.trim().slice(0, 30)}`);
  }
  return [...bad];
});
/** What reaches beyond the page, if it can be scrolled sideways. */
const sideways = (page) => page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const beyond = (one) => one.getBoundingClientRect().right > clientWidth + 1;
  return [`${scrollWidth} > ${clientWidth}`, ...[...document.querySelectorAll("body *")].filter(beyond).map((one) => `${one.tagName}.${one.className}#${one.id}`).slice(0, 5)];
});
/** Says what was found, and ends. */
const conclude = async () => {
  await browser.close();
  process.stdout.write(`${JSON.stringify({ done: done.length, broken })}\n`);
  process.exit(broken.length ? 1 : 0);
};
