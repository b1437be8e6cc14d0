/** To come. */
import { Page } from '../parts/page.tsx';

export function ReferencePage() {
  return <Page title="Reference">…</Page>;
}
