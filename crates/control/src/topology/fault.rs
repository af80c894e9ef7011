//! Why a row of the source is left out: a sentence, and the same as a code with parameters.

use std::fmt;

use model::topology::{BkHostId, BusinessId, SourceFault, SourceRow};
use model::{Host, Invalid, Reason};

/// What a row describes.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowKind {
    Set,
    Module,
    Service,
    Process,
}

impl RowKind {
    fn words(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Module => "module",
            Self::Service => "service instance",
            Self::Process => "process",
        }
    }

    /// As in the codes of changes.
    fn code(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Set | Self::Module | Self::Process => self.words(),
        }
    }
}

#[derive(Debug)]
pub(super) enum Fault {
    /// Its id is in use there.
    Elsewhere {
        kind: RowKind,
        id: String,
        business: BusinessId,
    },
    Twice {
        kind: RowKind,
        name: String,
    },
    TwiceInService {
        name: String,
    },
    HostTwice {
        id: BkHostId,
        other: Host,
    },
    HostElsewhere {
        id: BkHostId,
        known: Host,
    },
    Invalid(Invalid),
}

impl Fault {
    pub(super) fn of(self, row: String) -> SourceFault {
        SourceFault {
            row: SourceRow(row),
            reason: self.to_string(),
            cause: Some(self.cause()),
        }
    }

    fn cause(&self) -> Reason {
        match self {
            Self::Elsewhere { kind, id, business } => Reason::new("belongs_elsewhere")
                .with("what", kind.code())
                .with("id", id)
                .with("business", business),
            Self::Twice { kind, name } => Reason::new("twice")
                .with("what", kind.code())
                .with("name", name),
            Self::TwiceInService { name } => Reason::new("twice_in_service").with("name", name),
            Self::HostTwice { id, other } => Reason::new("host_twice")
                .with("id", id)
                .with("other", other),
            Self::HostElsewhere { id, known } => Reason::new("host_elsewhere")
                .with("id", id)
                .with("known", known),
            Self::Invalid(invalid) => invalid.reason(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { kind, id, business } => {
                write!(f, "{} {id} belongs to business {business}", kind.words())
            }
            Self::Twice { kind, name } => write!(f, "{} {name} is there twice", kind.words()),
            Self::TwiceInService { name } => {
                write!(f, "process {name} is there twice in its service instance")
            }
            Self::HostTwice { id, other } => {
                write!(f, "host {id} is there twice, also as {other}")
            }
            Self::HostElsewhere { id, known } => write!(
                f,
                "host {id} is {known} in another business: give it another bk_host_id there"
            ),
            Self::Invalid(invalid) => invalid.fmt(f),
        }
    }
}
