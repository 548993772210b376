// Opens pages in Chromium as readers do, and prints what is wrong with them. The libraries are below $BROWSER_TOOLS.
//   BROWSER_TOOLS=DIRECTORY node check.mjs PAGE...
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.BROWSER_TOOLS}/node_modules/`);
const { default: puppeteer } = await import(pathToFileURL(require.resolve('puppeteer-core')));
const axe = require.resolve('axe-core');
const WIDTHS = [360, 1280, 2560];
const SCHEMES = ['light', 'dark'];

let problems = 0;
const problem = (...words) => { problems++; console.log(...words); };
const overhang = () => document.documentElement.scrollWidth - window.innerWidth;
const unfold = () => document.querySelectorAll('details').forEach(details => { details.open = true; });

async function check(browser, file, width, scheme) {
  const page = await browser.newPage();
  const where = `${file} at ${width} pixels, ${scheme}:`;
  page.on('console', message => { if (message.type() === 'error') problem(where, message.text()); });
  page.on('pageerror', error => problem(where, error.message));
  page.on('dialog', dialog => { problem(where, 'a script ran:', dialog.message()); dialog.dismiss(); });
  page.on('request', request => { if (!/^(file|data):/.test(request.url())) problem(where, 'asks for', request.url()); });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(pathToFileURL(file));
  if (await page.evaluate(overhang) > 0) problem(where, 'scrolls sideways');
  await page.evaluate(unfold);
  if (await page.evaluate(overhang) > 0) problem(where, 'scrolls sideways when unfolded');
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, help, nodes } of violations) problem(where, id, help, nodes[0].html.slice(0, 300));
  await page.close();
}

/** The same text with and without scripts, and a PDF. */
async function checkPlain(browser, file) {
  const text = async enabled => {
    const page = await browser.newPage();
    await page.setJavaScriptEnabled(enabled);
    await page.goto(pathToFileURL(file));
    const found = await page.evaluate(() => document.body.innerText);
    if (!enabled && (await page.pdf()).length < 10_000) problem(file, 'prints next to nothing');
    await page.close();
    return found;
  };
  if (await text(true) !== await text(false)) problem(file, 'says something else without scripts');
}

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] });
for (const file of process.argv.slice(2)) {
  for (const width of WIDTHS) for (const scheme of SCHEMES) await check(browser, file, width, scheme);
  await checkPlain(browser, file);
}
await browser.close();
process.exit(problems ? 1 : 0);
