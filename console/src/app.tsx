/** The routes. To add a page: a folder in pages/, a line here, its address in url/paths.ts, and a line in shell/pages.ts. */

import { useEffect, useState } from 'preact/hooks';
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { call } from './api/client';
import { ApiError } from './api/errors';
import { loggedIn, me } from './api/session';
import type { WhoAmI } from './api/types';
import { ErrorBox } from './components/states';
import { t } from './i18n/common';
import { startLive } from './live/live';
import { LoginOver } from './shell/login-over';
import { NotFound } from './shell/not-found';
import { Shell } from './shell/shell';
import { paths } from './url/paths';

const Login = lazy(() => import('./pages/login/page'));
const Overview = lazy(() => import('./pages/overview/page'));
const Processes = lazy(() => import('./pages/processes/page'));
const Process = lazy(() => import('./pages/process/page'));
const Definition = lazy(() => import('./pages/definition/page'));
const Instance = lazy(() => import('./pages/instance/page'));
const Businesses = lazy(() => import('./pages/businesses/page'));
const Business = lazy(() => import('./pages/business/page'));
const Topology = lazy(() => import('./pages/topology/page'));
const Templates = lazy(() => import('./pages/templates/page'));
const Template = lazy(() => import('./pages/template/page'));
const Release = lazy(() => import('./pages/release/page'));
const Hosts = lazy(() => import('./pages/hosts/page'));
const Host = lazy(() => import('./pages/host/page'));
const Operations = lazy(() => import('./pages/operations/page'));
const Events = lazy(() => import('./pages/events/page'));
const Me = lazy(() => import('./pages/me/page'));
const Admin = lazy(() => import('./pages/admin/page'));
const Operation = lazy(() => import('./pages/operation/page'));

export function App() {
  return (
    <LocationProvider scope="/ui">
      <ErrorBoundary>
        <Router>
          <Route path="/ui/login" component={Login} />
          <Route path="/ui" component={SignedIn} />
          <Route path="/ui/*" component={SignedIn} />
          <Route default component={NotFound} />
        </Router>
      </ErrorBoundary>
    </LocationProvider>
  );
}

/** Everything but the login: finds out who the user is first. */
function SignedIn() {
  const { route } = useLocation();
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (me.value) {
      startLive();
      return;
    }
    call<WhoAmI>('GET', '/whoami', { anonymous: true }).then(
      who => {
        loggedIn(who);
        startLive();
      },
      (refused: Error) => {
        if (refused instanceof ApiError && refused.status === 401)
          route(paths.login(location.pathname + location.search), true);
        else setError(refused);
      },
    );
  }, [attempt]);
  if (error)
    return (
      <div class="page">
        <ErrorBox
          error={error}
          retry={() => {
            setError(null);
            setAttempt(attempt + 1);
          }}
        />
      </div>
    );
  if (!me.value) return null;
  return (
    <>
      <Shell>
        <Pages />
      </Shell>
      <LoginOver />
    </>
  );
}

function Pages() {
  const { url } = useLocation();
  const [broken, setBroken] = useState<{ url: string; error: Error } | null>(null);
  if (broken && broken.url === url)
    return (
      <div class="page">
        <ErrorBox title={t().errors.broken} error={broken.error} retry={() => setBroken(null)} />
      </div>
    );
  return (
    <ErrorBoundary onError={(error: Error) => setBroken({ url: location.pathname + location.search, error })}>
      <Router>
        <Route path="/" component={Overview} />
        <Route path="/processes" component={Processes} />
        <Route path="/p/:namespace/:name" component={Process} />
        <Route path="/p/:namespace/:name/edit" component={Definition} />
        <Route path="/p/:namespace/:name/:host" component={Instance} />
        <Route path="/b" component={Businesses} />
        <Route path="/b/:business" component={Business} />
        <Route path="/b/:business/topology" component={Topology} />
        <Route path="/b/:business/templates" component={Templates} />
        <Route path="/b/:business/templates/:template" component={Template} />
        <Route path="/b/:business/release" component={Release} />
        <Route path="/hosts" component={Hosts} />
        <Route path="/hosts/:host" component={Host} />
        <Route path="/ops" component={Operations} />
        <Route path="/ops/task/:id" component={Operation} kind="task" />
        <Route path="/ops/job/:id" component={Operation} kind="job" />
        <Route path="/events" component={Events} />
        <Route path="/me" component={Me} />
        <Route path="/admin" component={Admin} />
        <Route path="/admin/:section" component={Admin} />
        <Route default component={NotFound} />
      </Router>
    </ErrorBoundary>
  );
}
