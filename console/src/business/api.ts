/** What the API says of businesses: tree, process view, expressions, topology, config templates and their files. */
import { call, get, post, type Query } from '../api/client';
import type { Business, Facets, JobTask, OperateOptions } from '../api/types';
import type { Meaning, Reason } from '../i18n/reasons';

export interface Place {
  id: number;
  name: string;
}

export interface Instance {
  /** `namespace/name` */
  process: string;
  local_inst_id: number;
  inst_id: number;
  status: string;
  state: string;
  was?: string | null;
  restart_needed: boolean;
  wanted: string;
  managed: boolean;
  pid: number | null;
  message: string;
  /** What the message says, as a code; null where everything is as wanted. */
  reason?: Reason | null;
  connected: boolean;
  started_at: number;
  reported_at: number;
  cpu: number;
  mem: number;
}

export interface ViewProcess {
  id: number;
  business: number;
  expression: string;
  name: string;
  env: string;
  set: Place;
  module: Place;
  service: Place;
  host: string;
  cloud_name?: string | null;
  process_template: number;
  status: string;
  managed: boolean;
  /** Its source does not have it any more, and it still runs. */
  vanished: boolean;
  priority?: number | null;
  config_templates: { id: number; name: string; file_name: string }[];
  instances: Instance[];
  /** Actions of jobs that the caller may not or cannot take, with a reason code. */
  blocked?: Record<string, string>;
}

/** The filter of GET /processes/view, as it stands in the body of POST /jobs, too. */
export interface ViewFilter {
  env?: string;
  set?: string[];
  module?: string[];
  service?: string[];
  name?: string[];
  id?: string[];
  expr?: string;
  status?: string[];
  state?: string[];
  managed?: boolean;
  connected?: boolean;
  restart_needed?: boolean;
  ip?: string[];
  cloud?: string[];
  search?: string;
}

export interface ViewPage {
  count: number;
  start: number;
  processes: ViewProcess[];
}

export interface TreeSet extends Place {
  env: string;
  count: number;
  running: number;
  modules: (Place & { count: number; running: number })[];
}

export interface Explained {
  expression: string;
  count: number;
  parts: { part: string; text: string; words: string; meaning?: Meaning; count: number }[];
  matches: { id: number; expression: string }[];
}

export interface Changed {
  new: number;
  changed: number;
  gone: number;
}

/** A row of the source that was left out. */
export type Trouble = { row: string; reason: string } & Partial<Reason>;

export interface Difference {
  sets: Changed;
  modules: Changed;
  hosts: Changed;
  services: Changed;
  processes: Changed;
  instances: Changed;
  vanished: number;
  lines: string[];
  more_lines: number;
  changes?: (Reason & { mark: string })[];
  troubles: Trouble[];
}

export interface Bindings {
  processes: number[];
  process_templates: number[];
}

export interface Template {
  id: number;
  template_name: string;
  file_name: string;
  abs_path: string;
  owner: string;
  group: string;
  filemode: string;
  line_separator: string;
  bindings: Bindings;
  draft: number | null;
  active: number | null;
  versions: number;
  updated_at: number;
  updated_by: string;
}

export interface Version {
  id: number;
  template: number;
  description: string;
  state: 'draft' | 'active' | 'past';
  content?: string | null;
  updated_at: number;
  updated_by: string;
}

export interface FileVersion {
  version: number;
  path: string;
  md5: string;
  at: number;
  by: string;
  content?: string | null;
}

/** A config file, and the process that it is for. */
export interface BusinessFile {
  process: number;
  name: string;
  host: string;
  local_inst_id: number;
  template: number;
  generated: FileVersion | null;
  released: FileVersion | null;
}

/** The file of a template for one instance, and whether what is on the host differs. */
export type TemplateFile = Omit<BusinessFile, 'template' | 'name'> & {
  expression: string;
  connected: boolean;
  state: string;
  /** Null where it is not known. */
  drift: boolean | null;
  drift_text: string;
  drift_reason: Reason | null;
};

export interface JobPage {
  id: number;
  status: string;
  counts: Record<string, number>;
  count: number;
  tasks: JobTask[];
}

export interface JobOptions extends OperateOptions {
  config_template_ids?: number[];
  after_release?: string | null;
}

/** Lists are joined, as the process view reads them. */
const viewQuery = (filter: ViewFilter): Query =>
  Object.fromEntries(
    Object.entries(filter).map(([key, value]) => [key, Array.isArray(value) ? value.join(',') : value]),
  );

export const businesses = (signal?: AbortSignal) => get<{ businesses: Business[] }>('/businesses', {}, signal);

export const tree = (business: number, env: string, signal?: AbortSignal) =>
  get<{ sets: TreeSet[] }>(`/businesses/${business}/tree`, { env }, signal);

export const view = (business: number, filter: ViewFilter, page: Query, signal?: AbortSignal) =>
  get<ViewPage>('/processes/view', { business, ...viewQuery(filter), ...page }, signal);

export const viewFacets = (business: number, by: string[], filter: ViewFilter, signal?: AbortSignal) =>
  get<Facets>('/processes/view-facets', { business, by: by.join(','), ...viewQuery(filter) }, signal);

export const explain = (business: number, env: string | null, expression: string) =>
  post<Explained>('/expression/explain', { business, ...(env ? { env } : {}), expression });

export const topology = (business: number, signal?: AbortSignal) =>
  get<Record<string, unknown>>(`/businesses/${business}/topology`, {}, signal);

export const importTopology = (business: number, document: unknown, dryRun: boolean) =>
  call<Difference>('PUT', `/businesses/${business}/topology`, {
    ...(dryRun ? { query: { dry_run: true } } : {}),
    body: document,
  });

export const refreshTopology = (business: number) => post<Difference>(`/businesses/${business}/refresh`);

const at = (business: number, template: number | string) => `/businesses/${business}/templates/${template}`;

export const templates = (business: number, signal?: AbortSignal) =>
  get<{ templates: Template[] }>(`/businesses/${business}/templates`, {}, signal);

export const template = (business: number, id: string, signal?: AbortSignal) =>
  get<Template>(at(business, id), {}, signal);

export type TemplateBody = Pick<
  Template,
  'template_name' | 'file_name' | 'abs_path' | 'owner' | 'group' | 'filemode' | 'line_separator'
>;

export const createTemplate = (business: number, body: TemplateBody) =>
  post<Template>(`/businesses/${business}/templates`, body);

export const changeTemplate = (business: number, id: number, body: TemplateBody) =>
  call<Template>('PUT', at(business, id), { body });

export const deleteTemplate = (business: number, id: number) => call<void>('DELETE', at(business, id));

export const versions = (business: number, id: string, signal?: AbortSignal) =>
  get<{ versions: Version[] }>(`${at(business, id)}/versions`, {}, signal);

export const version = (business: number, id: string, number: number, signal?: AbortSignal) =>
  get<Version>(`${at(business, id)}/versions/${number}`, {}, signal);

export const saveDraft = (business: number, id: number, description: string, content: string) =>
  call<Version>('PUT', `${at(business, id)}/draft`, { body: { description, content } });

export const activate = (business: number, id: number, number: number) =>
  post<Version>(`${at(business, id)}/versions/${number}/activate`);

export const clone = (business: number, id: number, number: number) =>
  post<Version>(`${at(business, id)}/versions/${number}/clone`);

export const bind = (business: number, id: number, bindings: Bindings) =>
  call<Template>('PUT', `${at(business, id)}/bindings`, { body: bindings });

export const preview = (business: number, text: string, process: number, instance: number) =>
  post<{ content: string }>(`/businesses/${business}/preview`, { text, process, local_inst_id: instance });

export const variables = (business: number, process: number, inst: number, signal?: AbortSignal) =>
  get<{ variables: Record<string, unknown> }>(
    `/businesses/${business}/processes/${process}/variables`,
    { inst },
    signal,
  );

export const businessFiles = (
  business: number,
  filter: ViewFilter,
  templates: number[],
  page: Query,
  signal?: AbortSignal,
) =>
  get<{ count: number; total: number; files: BusinessFile[] }>(
    `/businesses/${business}/config-files`,
    { ...viewQuery(filter), ...(templates.length > 0 ? { template: templates.join(',') } : {}), ...page },
    signal,
  );

export const templateFiles = (business: number, template: number, query: Query, signal?: AbortSignal) =>
  get<{ count: number; files: TemplateFile[] }>(`/businesses/${business}/templates/${template}/files`, query, signal);

export const configFile = (
  business: number,
  file: Pick<BusinessFile, 'process' | 'local_inst_id' | 'template'>,
  of: 'generated' | 'released',
  signal?: AbortSignal,
) =>
  get<FileVersion>(
    `/businesses/${business}/processes/${file.process}/config-files/${file.local_inst_id}/${file.template}`,
    { of },
    signal,
  );

export const job = (id: number, query: Query, signal?: AbortSignal) => get<JobPage>(`/jobs/${id}`, query, signal);
