/**
 * What public emitters say was done, by vocabulary: the verbs of xAPI, and the types and actions of
 * Caliper. Listed by us from the named sources; an event name of other software can be added as a
 * vocabulary of its format.
 */
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import type { Format, FormatSource } from '../../../src/ingest/formats/format.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { COURSE, STATEMENT } from './statements.ts';

export interface Vocabulary {
  readonly emitter: string;
  readonly format: Format;
  /** Separated by white space, after `prefix`. */
  readonly words: string;
  readonly prefix: string;
  /** A record about a pin that says this word. */
  readonly recordOf: (word: string) => FormatSource;
}

const statementOf = (id: string): FormatSource => ({ ...STATEMENT, id, verb: { id } });

const eventOf = (word: string): FormatSource => {
  const [type, action] = word.split('.');
  return {
    '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2',
    ...{ id: word, type, action },
    actor: 'https://x.example/users/1',
    object: 'https://x.example/pages/1',
    group: { id: COURSE.id, type: 'CourseOffering' },
    eventTime: STATEMENT.timestamp,
  };
};

const verbs = (emitter: string, prefix: string, words: string): Vocabulary => ({
  ...{ emitter, prefix, words, format: xapi, recordOf: statementOf },
});
const events = (emitter: string, words: string): Vocabulary => ({
  ...{ emitter, words, prefix: '', format: caliper, recordOf: eventOf },
});

/** activitystrea.ms, activity-schema, 2012: base schema and verbs. */
const ACTIVITY_STREAMS = `
  accept access acknowledge add agree append approve archive assign at attach attend author authorize
  borrow build cancel close complete confirm consume checkin create delete deliver deny disagree
  dislike experience favorite find flag-as-inappropriate follow give host ignore insert install
  interact invite join leave like listen lose make-friend open play present purchase qualify read
  receive reject remove remove-friend replace request request-friend resolve return retract
  rsvp-maybe rsvp-no rsvp-yes satisfy save schedule search sell send share sponsor start
  stop-following submit tag terminate tie unfavorite unlike unsatisfy unsave unshare update use watch
  win`;

export const VOCABULARIES: readonly Vocabulary[] = [
  verbs('activitystrea.ms', 'http://activitystrea.ms/schema/1.0/', ACTIVITY_STREAMS),
  verbs(
    'the vocabulary of ADL (adlnet.gov/expapi/verbs)',
    'http://adlnet.gov/expapi/verbs/',
    `answered asked attempted attended commented completed exited experienced failed imported
     initialized interacted launched mastered passed preferred progressed registered responded resumed
     scored shared suspended terminated voided`,
  ),
  verbs(
    'cmi5 (AICC/CMI-5_Spec_Current, verbs of the profile)',
    'https://w3id.org/xapi/adl/verbs/',
    'abandoned satisfied waived initialized launched completed passed failed terminated',
  ),
  // The sources of xAPI-vle 16663652 and davidpesce 326c05b8 have the same verbs.
  verbs(
    'moodle-logstore_xapi, activitystrea.ms',
    'http://activitystrea.ms/',
    'create delete join leave send start submit update schema/1.0/assign schema/1.0/receive schema/1.0/retract',
  ),
  verbs(
    'moodle-logstore_xapi, id.tincanapi.com',
    'http://id.tincanapi.com/verb/',
    'viewed replied unregistered live adjourned secured unsecured',
  ),
  verbs(
    'moodle-logstore_xapi, w3id.org',
    'https://w3id.org/xapi/',
    `acrossx/verbs/edited acrossx/verbs/searched dod-isd/verbs/assessed dod-isd/verbs/deleted
     dod-isd/verbs/edited dod-isd/verbs/published tla/verbs/achieved tla/verbs/forfeited
     tla/verbs/resumed tla/verbs/scored tla/verbs/suspended tla/verbs/verified`,
  ),
  verbs(
    'moodle-logstore_xapi, xapi.edlm',
    'https://xapi.edlm/profiles/edlm-lms/concepts/verbs/',
    `enrolled exceeded locked login logout restarted subscribed toured uncompleted unlocked
     unsubscribed`,
  ),
  verbs(
    'event-routing-backends e2acb704 of Open edX',
    'https://w3id.org/xapi/',
    `acrossx/verbs/evaluated acrossx/verbs/posted acrossx/verbs/edited acrossx/verbs/reported
     dod-isd/verbs/navigated dod-isd/verbs/deleted openedx/verb/voted openedx/verb/unreported
     video/verbs/played video/verbs/paused video/verbs/seeked`,
  ),
  verbs(
    'event-routing-backends e2acb704 of Open edX, id.tincanapi.com',
    'http://id.tincanapi.com/verb/',
    'earned unregistered viewed',
  ),
  events(
    'event-routing-backends e2acb704 of Open edX',
    `Event.Activated Event.Deactivated Event.Completed Event.Viewed NavigationEvent.NavigatedTo
     MediaEvent.Started MediaEvent.Paused MediaEvent.Resumed MediaEvent.Ended MediaEvent.JumpedTo
     MediaEvent.ChangedSpeed MediaEvent.EnabledClosedCaptioning MediaEvent.DisabledClosedCaptioning
     AssessmentEvent.Submitted AssessmentItemEvent.Completed GradeEvent.Graded`,
  ),
  events(
    'canvas-lms, doc/api/data_services/json/caliper/event-types',
    `Event.Created Event.Modified Event.Deleted NavigationEvent.NavigatedTo ThreadEvent.Created
     MessageEvent.Posted AssignableEvent.Submitted GradeEvent.Graded SessionEvent.LoggedIn
     SessionEvent.LoggedOut`,
  ),
  events(
    'Blackboard, docs.blackboard.com/caliper/events',
    `ViewEvent.Viewed AssignableEvent.Started AssignableEvent.Submitted AssignableEvent.Completed
     AssessmentEvent.Started AssessmentEvent.Submitted AssessmentItemEvent.Started SessionEvent.LoggedIn
     GradeEvent.Graded ForumEvent.Created ForumEvent.Modified ForumEvent.Deleted`,
  ),
];
