// The page at `/`: its script's entry, bundled by src/tools/page.ts.

import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('page');
if (root !== null) {
  root.replaceChildren();
  render(<App root={root} />, root);
}
