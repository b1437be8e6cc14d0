/** What the fields of the contract mean: for the OpenAPI documents and for the tables of copies. */
const PERSON = {
  id: 'User identifier.',
  email: 'E-mail address of the user, or a stable pseudonym.',
  name: 'Display name, or a stable pseudonym.',
  role: 'Platform role.',
  class_role: 'Role in a class.',
} as const;

export const FIELD_NOTES = {
  event: {
    type: 'Kind of object acted on.',
    action: 'What the actor did.',
    timestamp: 'When the event happened.',
  },
  person: PERSON,
  organization: {
    id: 'Organization.',
    name: 'Name of the organization.',
    domain: 'Domain of the organization.',
    category_id: 'Category.',
  },
  pin: {
    id: 'Pin.',
    activity: 'Repeats the action of the event.',
    title: 'Title of the pin.',
    body: 'Text of the pin.',
    web_url: 'URL of the linked web page.',
    image_url: 'URL of an image.',
    tags: 'Tags of the pin.',
  },
  board: { id: 'Board.', title: 'Title of the board.', category: 'Category of the board.' },
  user: {
    ...PERSON,
    first_name: 'First name. If imported without one: the display name up to its last space.',
    last_name: 'Last name. If imported without one: the display name after its last space.',
  },
  points: {
    total_points: 'Points of the user on the board.',
    participation_score: 'Score of the user on the board.',
  },
} as const;
