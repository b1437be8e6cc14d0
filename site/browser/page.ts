/** What every page does in the browser: the theme, and buttons that copy code. */
import { applyTheme, chosenTheme, nextTheme, storeTheme } from '../../console/src/view/chosen-theme.ts';
import './page.css';

const SAID_MS = 2_000;
const SYMBOLS = { system: '◐', light: '○', dark: '●' } as const;

applyTheme(chosenTheme());
document.addEventListener('DOMContentLoaded', () => {
  addThemeButton();
  for (const code of document.querySelectorAll<HTMLElement>('figure.code')) addCopyButton(code);
});

function addThemeButton(): void {
  const button = document.querySelector<HTMLButtonElement>('button.theme');
  if (button === null) return;
  const show = () => {
    const theme = chosenTheme();
    button.textContent = SYMBOLS[theme];
    button.title = `Theme: ${theme}`;
    button.ariaLabel = button.title;
  };
  button.addEventListener('click', () => {
    const theme = nextTheme(chosenTheme());
    storeTheme(theme);
    applyTheme(theme);
    show();
  });
  show();
  button.hidden = false;
}

function addCopyButton(frame: HTMLElement): void {
  // Browsers allow it only with TLS, or on this machine.
  if (navigator.clipboard === undefined) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(frame.querySelector('code')?.textContent ?? '');
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, SAID_MS);
  });
  frame.append(button);
}
