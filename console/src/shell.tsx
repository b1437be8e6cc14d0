/** The frame of every page: navigation, the range, the theme, and signing out. */
import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { signOut } from './api/key.ts';
import { Brand } from './parts/brand.tsx';
import { PageLink } from './parts/links.tsx';
import { RangePicker } from './parts/range-picker.tsx';
import { nextTheme } from './view/chosen-theme.ts';
import { capitalize } from './view/format.ts';
import { chooseTheme, useTheme } from './view/theme.ts';
import { useWhole } from './view/use-view.ts';

const PLACES = [
  { to: '/', name: 'Overview', icon: 'M3 13h5v5H3zM12 3h5v15h-5zM3 3h5v6H3z' },
  { to: '/console/boards', name: 'Boards', icon: 'M3 3h14v14H3zM3 8h14M9 8v9' },
  {
    to: '/console/people',
    name: 'Users',
    icon: 'M10 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 17c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5',
  },
  { to: '/console/events', name: 'Events', icon: 'M4 5h12M4 10h12M4 15h7' },
] as const;

/** Pages of the server that are not pages of the console. */
const OTHER_PAGES = [
  { href: '/docs/api', name: 'API', icon: 'M7 5l-4 5 4 5M13 5l4 5-4 5' },
  { href: '/docs/', name: 'Docs', icon: 'M4 4h5.5v12H4zM9.5 4H16v12H9.5M12 8h2M12 11h2' },
] as const;

export function Shell({ children }: { readonly children: ReactNode }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  const whole = useWhole();
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    // Moves the cursor of a screen reader to the new page, without a visible outline.
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="side">
        <PageLink to="/" className="side-brand">
          <Brand />
        </PageLink>
        <nav aria-label="Pages" className="side-nav">
          {PLACES.map(({ to, name, icon }) => (
            <PageLink key={to} to={to} isCurrent={isAt(path, to)}>
              <Icon path={icon} />
              {name}
            </PageLink>
          ))}
          {OTHER_PAGES.map(({ href, name, icon }) => (
            <a key={href} href={href}>
              <Icon path={icon} />
              {name}
            </a>
          ))}
        </nav>
        <div className="side-foot">
          <p className="side-organization">{whole.data?.organization.name}</p>
          <ThemeSwitch />
          <button type="button" className="button button-quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <div className="stage">
        <section className="range-bar" aria-label="Date range">
          <RangePicker />
        </section>
        <main id="main" ref={main} tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

function Icon({ path }: { readonly path: string }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true" className="icon">
      <path d={path} />
    </svg>
  );
}

function isAt(path: string, place: string): boolean {
  return place === '/' ? path === '/' || path === '/console' : path === place || path.startsWith(`${place}/`);
}

const THEME_ICONS = {
  system: 'M3 4h14v10H3zM7 17h6',
  light:
    'M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6L16 16M4 16l1.4-1.4M14.6 5.4L16 4',
  dark: 'M16.5 12.5A7 7 0 0 1 7.5 3.5a7 7 0 1 0 9 9z',
} as const;

function ThemeSwitch() {
  const theme = useTheme();
  return (
    <button type="button" className="button button-quiet" onClick={() => chooseTheme(nextTheme(theme))}>
      <Icon path={THEME_ICONS[theme]} />
      <span className="unseen">Theme: </span>
      {capitalize(theme)}
    </button>
  );
}
