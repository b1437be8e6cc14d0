CREATE TABLE organizations (id int PRIMARY KEY, name text NOT NULL, domain text NOT NULL, category_id int NOT NULL);
CREATE TABLE persons (id int PRIMARY KEY, email text NOT NULL, name text NOT NULL, role text NOT NULL, class_role text NOT NULL);
CREATE TABLE boards (id int PRIMARY KEY, title text NOT NULL, category text NOT NULL);
CREATE TABLE pins (
  id int PRIMARY KEY, title text NOT NULL, body text NOT NULL, web_url text NOT NULL, image_url text NOT NULL, tags jsonb NOT NULL
);
CREATE TABLE events (
  id int PRIMARY KEY, type text NOT NULL, action text NOT NULL,
  owner_id int NOT NULL REFERENCES persons, actor_id int NOT NULL REFERENCES persons,
  organization_id int NOT NULL REFERENCES organizations, board_id int NOT NULL REFERENCES boards,
  pin_id int REFERENCES pins, at timestamptz NOT NULL
);
