/** Entry point of the console. */
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { shareKey } from './api/key.ts';
import { queries } from './api/queries.ts';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './view/chosen-theme.ts';

applyTheme(chosenTheme());
shareKey();
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
