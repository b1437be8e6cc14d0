/** Files of OneRoster 1.2, made after the CSV binding of the standard. */

export type RosterFiles = Readonly<Record<string, string>>;

const TABLES = ['academicSessions', 'classes', 'courses', 'enrollments', 'orgs', 'roles', 'users'];
export const manifest = (mode: string, version = '1.2', tables: readonly string[] = TABLES) =>
  [
    'propertyName,value',
    'manifest.version,1.0',
    `oneroster.version,${version}`,
    ...tables.map((table) => `file.${table},${mode}`),
    'file.demographics,absent',
    'source.systemName,SIS',
  ].join('\n');

export const USERS =
  'sourcedId,status,dateLastModified,enabledUser,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password,userMasterIdentifier,resourceSourcedIds,preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns\n';
export const user = (
  id: string,
  status: string,
  name: string,
  more: Partial<Record<'email' | 'identifier' | 'preferred', string>> = {},
) =>
  `${id},${status},${status && '2026-09-01T00:00:00Z'},true,${id}@login,{LDAP:${id}},${name},,${more.identifier ?? ''},${more.email ?? ''},,,,07,,,,${more.preferred ?? ''},,,o1,\n`;
export const CLASSES =
  'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods\n';
export const ENROLLMENTS =
  'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate\n';
export const ROLES =
  'sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId,userProfileSourcedId\n';

export const BULK: RosterFiles = {
  'manifest.csv': manifest('bulk'),
  'academicSessions.csv':
    'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear\nt1,,,Fall,term,2026-08-01,2026-12-20,,2027\n',
  'orgs.csv':
    'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId\no1,,,Lincoln School,school,,\n',
  'courses.csv':
    'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes\nc1,,,,Mathematics 7,MATH7,07,o1,Mathematics,\n',
  'classes.csv': `${CLASSES}k1,,,"Mathematics, period 3",07,c1,M7-3,scheduled,,o1,t1,,,3\nk2,,,Homeroom,07,c9,HR,homeroom,,o1,t1,,,\n`,
  'users.csv': [
    USERS,
    user('u1', '', 'Jordan,Lee', { email: 'jordan@x.example', identifier: 'T100' }),
    user('u2', '', 'Avery Ann,Smith', { preferred: 'Av' }),
    user('u3', '', 'Pat,Oh'),
  ].join(''),
  'roles.csv': `${ROLES}r1,,,u1,secondary,aide,,,o1,\nr2,,,u1,primary,teacher,,,o1,\nr3,,,u2,primary,student,,,o1,\n`,
  'enrollments.csv': [
    ENROLLMENTS,
    'e1,,,k1,o1,u1,teacher,true,,\n',
    'e2,,,k1,o1,u2,student,,,\n',
    'e3,,,k2,o1,u1,student,,,\n',
  ].join(''),
};
