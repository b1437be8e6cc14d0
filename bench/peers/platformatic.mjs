/** Platformatic DB over the same database, configured to return all rows at once. */
import { create } from '@platformatic/db';

const app = await create(import.meta.dirname, {
  server: { hostname: '127.0.0.1', port: Number(process.env['PORT']), logger: { level: 'error' } },
  db: {
    connectionString: process.env['DATABASE_URL'],
    graphql: true,
    openapi: false,
    limit: { default: 1_000_000, max: 1_000_000 },
  },
});
await app.init();
await app.start({ listen: true });
