//! The request and response types of the native API (`/api/v1`), shared by the server, the command line and the OpenAPI
//! document.
//!
//! A doc comment here is a description in the OpenAPI document (`docs/openapi.json`), which a test compares.
//!
//! The types hold what is on the wire and nothing else: the server checks requests, and no type here knows `control` or HTTP.

#[macro_use]
mod response;

mod access;
mod agent;
mod audit;
mod error;
mod event;
pub mod examples;
mod expression;
mod figures;
mod group;
mod held;
mod host;
mod host_check;
mod job;
mod label_hosts;
mod log;
mod login;
mod operate;
mod process;
mod process_version;
mod reason;
mod remove_hosts;
mod replica;
mod rows;
mod run_history;
mod scalar;
pub mod schemas;
mod task;
mod template;
mod timeline;
mod token;
mod topology;
mod view;
mod watch;
mod webhook;
mod why;

pub use access::{
    AppBody, AppList, AppRow, CreatedApp, CreatedUser, GrantBody, GrantList, GrantRow, UserBody,
    UserList, UserRow,
};
pub use agent::{AgentBinaryList, AgentBinaryRow, AgentUpgradeBody, AgentUpgradeView, LeftOutView};
pub use audit::{AuditList, AuditRow};
pub use error::{ErrorBody, ErrorDetail, MissingRoleDetail};
pub use event::{EventList, EventRow};
pub use expression::{
    ExplainBody, Explained, ExpressionBody, ExpressionMatch, MeaningView, PartExplained, PartsBody,
    ScopeBody,
};
pub use figures::{ProcessFigures, StateFigures};
pub use group::{GroupList, GroupsBody, HostGroups};
pub use held::{ComparedProcess, ForeignView, HeldAnswer, HeldProcessView, RunView, WantedView};
pub use host::{
    AgentIdBody, FoundBusiness, FoundHost, FoundTemplate, HostPage, HostParts, HostRef, HostRow,
    HostText, SearchResult,
};
pub use host_check::{HostCheckAnswer, HostCheckView};
pub use job::{
    BatchView, GateView, JobBegun, JobBody, JobCountsView, JobCreated, JobDetail, JobList,
    JobOptionsBody, JobRetried, JobReverted, JobTaskView, JobUpdateBody, JobUpdateView,
    JobVersionView, JobView, RetryBody,
};
pub use label_hosts::{HostsLabelled, LabelHostsBody, LabelledHostView};
pub use log::LogPiece;
pub use login::{
    LoggedIn, LoginBody, LoginCodeBody, LoginCodeCreated, LoginList, LoginView, PasswordBody,
    WhoAmI, WhoAmIApp, WhoAmIUser,
};
pub use operate::{
    BlockedGroup, CommandCount, FilterBody, OperateBody, Operated, OperatedInBatches,
    OperationBegun, OperationPlanView, OperationsBody, SampleProcess, ValueCount,
};
pub use process::{
    DefinitionView, FacetList, FacetValueView, FacetView, HealthView, HostResult, HostsBody,
    LastExitView, NameList, ProbesView, ProcessDetail, ProcessPage, ProcessView, RegisterBody,
    Results, SpecBody,
};
pub use process_version::{FieldChangeView, ProcessVersionList, ProcessVersionView, RollbackBody};
pub use reason::ReasonView;
pub use remove_hosts::{HostsRemoved, RemoveHostsBody, RemovedHost};
pub use replica::{Draining, ReplicaList, ReplicaRow};
pub use rows::Rows;
pub use run_history::{RunHistory, RunRecordView};
pub use scalar::Scalar;
pub use task::{
    Counts, FailureGroupView, FailureGroups, InspectionView, TargetResult, TaskDetail, TaskList,
    TaskRetryBody, TaskRow,
};
pub use template::{
    Bindings, ConfigFileList, ConfigFileOf, ConfigFilePage, ConfigFileShown, DraftBody, FileShown,
    Preview, PreviewBody, TemplateBody, TemplateFileList, TemplateFileRow, TemplateList,
    TemplateShown, VariableList, VersionList, VersionShown,
};
pub use timeline::{EventBucket, EventCounts, TimelineList, TimelineRow};
pub use token::{CreatedToken, TokenBody, TokenList, TokenRow};
pub use topology::{BusinessList, BusinessView, ChangeCounts, ChangeView, Difference, LeftOutRow};
pub use view::{
    BusinessTree, InstanceView, NamedId, TemplateOf, TreeModule, TreeSet, ViewList, ViewProcess,
};
pub use watch::{
    AgentChange, FleetSummary, JobProgress, Lagged, RegistrationChange, StatusChange, TaskProgress,
    TemplateChange, TopologyChange,
};
pub use webhook::{CreatedWebhook, WebhookBody, WebhookList, WebhookRow, WebhookTest};
pub use why::{CauseView, WhyView};
