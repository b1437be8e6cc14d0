/** A statement of the Experience API, for tests to change. */
export const COURSE = {
  id: 'https://x.example/course/1',
  definition: {
    type: 'http://adlnet.gov/expapi/activities/course',
    name: { fr: 'Chimie', 'en-GB': 'Chemistry' },
  },
};
export const STATEMENT = {
  id: '12345678-1234-5678-1234-567812345678',
  actor: { mbox: 'mailto:ada@x.example', name: 'Ada' },
  verb: { id: 'http://adlnet.gov/expapi/verbs/experienced' },
  object: {
    id: 'https://x.example/video/2',
    definition: { name: { fr: 'Acides' }, description: { en: 'What is an acid?' } },
  },
  context: { contextActivities: { parent: [COURSE] }, instructor: { openid: 'https://x.example/bob' } },
  timestamp: '2024-03-31T01:30:00.123456Z',
};
