// Each page in both languages and themes, at 1280 and 390 px: axe finds nothing, nothing is too wide, the browser reports no error.
//
//   node tests/pages.mjs [wide|narrow]    MUSTER_PAGES=/ui/b tries only the pages whose address contains that.
import { axeClean, fitsWidth, flow, go, logIn, openPage, step } from './harness.mjs';
import { addressOf, PAGES, samples, settled } from './page-list.mjs';

const VIEWS = {
  wide: [
    { language: 'en', theme: 'light', width: 1280, height: 800 },
    { language: 'zh', theme: 'dark', width: 1280, height: 800 },
  ],
  narrow: [
    { language: 'en', theme: 'dark', width: 390, height: 800 },
    { language: 'zh', theme: 'light', width: 390, height: 800 },
  ],
};
const views = VIEWS[process.argv[2]] ?? Object.values(VIEWS).flat();

await flow(
  async browser => {
    for (const view of views) {
      const page = await openPage(browser, view);
      await logIn(page, '/ui/processes');
      const found = await samples(page);
      for (const [name, address, ready] of PAGES) {
        if (process.env.MUSTER_PAGES && !address.includes(process.env.MUSTER_PAGES)) continue;
        const path = addressOf(address, found);
        if (path === null) continue;
        await step(`${name} (${view.language}, ${view.theme}, ${view.width})`, async () => {
          await go(page, path);
          await settled(page, ready);
          await axeClean(page, name);
          await fitsWidth(page, name);
        });
      }
      await page.context().close();
    }
  },
  { sample: true },
);
