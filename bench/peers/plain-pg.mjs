/** A minimal server: a query with joins, an object for every row, and `JSON.stringify`. */
import { createServer } from 'node:http';
import pg from 'pg';

const EVENTS = `
  SELECT e.type, e.action, e.at, o.id AS org_id, o.name AS org_name, o.domain, o.category_id,
    w.id AS w_id, w.email AS w_email, w.name AS w_name, w.role AS w_role, w.class_role AS w_class_role,
    a.id AS a_id, a.email AS a_email, a.name AS a_name, a.role AS a_role, a.class_role AS a_class_role,
    b.id AS b_id, b.title AS b_title, b.category AS b_category,
    p.id AS p_id, p.title AS p_title, p.body, p.web_url, p.image_url, p.tags
  FROM events e JOIN organizations o ON o.id = e.organization_id
    JOIN persons w ON w.id = e.owner_id JOIN persons a ON a.id = e.actor_id
    JOIN boards b ON b.id = e.board_id LEFT JOIN pins p ON p.id = e.pin_id`;
const ORDER = 'ORDER BY e.at, e.id';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });

const server = createServer(async (request, response) => {
  const board = /^\/events\/board\/(\d+)$/.exec(request.url ?? '')?.[1];
  const { rows } = board
    ? await pool.query(`${EVENTS} WHERE e.board_id = $1 ${ORDER}`, [board])
    : await pool.query(`${EVENTS} ${ORDER}`);
  const body = JSON.stringify(rows.map(eventOf));
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});

server.listen(Number(process.env['PORT']), '127.0.0.1');

function eventOf(row) {
  return {
    type: row.type,
    action: row.action,
    owner: personOf(row, 'w'),
    actor: personOf(row, 'a'),
    organization: {
      id: row.org_id,
      name: row.org_name,
      domain: row.domain,
      category_id: row.category_id,
    },
    ...(row.p_id && { pin: pinOf(row) }),
    board: { id: row.b_id, title: row.b_title, category: row.b_category },
    timestamp: row.at.toISOString().replace('Z', '+00:00'),
  };
}

function personOf(row, key) {
  return {
    id: row[`${key}_id`],
    email: row[`${key}_email`],
    name: row[`${key}_name`],
    role: row[`${key}_role`],
    class_role: row[`${key}_class_role`],
  };
}

function pinOf(row) {
  const { p_id: id, p_title: title, body, web_url, image_url, tags } = row;
  return { id, activity: row.action, title, body, web_url, image_url, tags };
}
