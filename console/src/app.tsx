/** The console: shows the key form without a key, and the pages with one. */
import { lazy, Suspense, useEffect } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { useKey } from './api/key.ts';
import { queries } from './api/queries.ts';
import { KeyForm } from './key-form.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { Boundary } from './parts/boundary.tsx';
import { PageLink } from './parts/links.tsx';
import { Page } from './parts/page.tsx';
import { Empty, Skeleton } from './parts/states.tsx';
import { Shell } from './shell.tsx';
import { useDays, useStatedZone } from './view/use-view.ts';

const BoardsPage = lazy(async () => ({ default: (await import('./pages/boards.tsx')).BoardsPage }));
const BoardPage = lazy(async () => ({ default: (await import('./pages/board.tsx')).BoardPage }));
const PeoplePage = lazy(async () => ({ default: (await import('./pages/people.tsx')).PeoplePage }));
const PersonPage = lazy(async () => ({ default: (await import('./pages/person.tsx')).PersonPage }));
const EventsPage = lazy(async () => ({ default: (await import('./pages/events.tsx')).EventsPage }));

export function App() {
  const { key, reason } = useKey();
  useEffect(() => {
    // The next key must not show data that only the previous key could see.
    if (key === '') queries.clear();
  }, [key]);
  return key === '' ? <KeyForm reason={reason} /> : <Pages />;
}

function Pages() {
  useStatedZone();
  const [path] = useLocation();
  const { zone } = useDays();
  return (
    <Shell>
      <Boundary key={`${path} ${zone}`}>
        <Suspense fallback={<Skeleton height={400} />}>
          <Switch>
            <Route path="/" component={OverviewPage} />
            <Route path="/console" component={OverviewPage} />
            <Route path="/console/boards" component={BoardsPage} />
            <Route path="/console/boards/:id/:section?">
              {({ id, section }) => <BoardPage key={id} id={id} section={section ?? 'activity'} />}
            </Route>
            <Route path="/console/people" component={PeoplePage} />
            <Route path="/console/people/:id/:section?">
              {({ id, section }) => <PersonPage key={id} id={id} section={section ?? 'activity'} />}
            </Route>
            <Route path="/console/events" component={EventsPage} />
            <Route component={NoSuchPage} />
          </Switch>
        </Suspense>
      </Boundary>
    </Shell>
  );
}

function NoSuchPage() {
  return (
    <Page title="Page not found">
      <Empty title="This page does not exist">
        <PageLink to="/">Go to overview</PageLink>
      </Empty>
    </Page>
  );
}
