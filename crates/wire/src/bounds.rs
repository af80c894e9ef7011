//! Limits of the texts in a frame. The codec applies them to every frame that it reads.
//!
//! Text for people is cut and escaped. An identifier that is too long makes the frame malformed, because a cut identifier would
//! name something else. JSON and bytes are limited by the frame ([`crate::MAX_FRAME`]), and when they become types of `model`.

use model::bounds::{MAX_HOSTNAME, MAX_KERNEL, MAX_MESSAGE, MAX_VERSION};
use model::text::{sanitize_line, sanitize_lines};

use crate::WireError;
use crate::ask::Output;
use crate::down::{Bye, Dependencies, Down, DownKind, GroupSet, Move, NameRef, Welcome};
use crate::enrol::{Enrol, Enrolled};
use crate::up::{EventFrame, Hello, ProcessStatus, Up, UpKind};

/// The longest identifier (namespace, name, address, agent id, kind, token), in bytes. Each has a tighter rule of its own
/// where it is parsed.
pub const MAX_IDENTIFIER: usize = 2048;

/// A frame whose texts have limits.
pub trait Bounded {
    fn bound(&mut self) -> Result<(), WireError>;
}

impl Bounded for Up {
    fn bound(&mut self) -> Result<(), WireError> {
        match &mut self.kind {
            Some(UpKind::Hello(hello)) => hello.bound(),
            Some(UpKind::Report(report)) => report.statuses.iter_mut().try_for_each(Bounded::bound),
            Some(UpKind::Event(event)) => event.bound(),
            Some(UpKind::Output(output)) => {
                let Output { refused, .. } = output;
                sanitize_lines(refused, MAX_MESSAGE);
                Ok(())
            }
            // Its one text is JSON, which `outcome` reads and bounds.
            Some(UpKind::Result(_)) | None => Ok(()),
        }
    }
}

impl Bounded for Hello {
    fn bound(&mut self) -> Result<(), WireError> {
        sanitize_line(&mut self.agent_version, MAX_VERSION);
        sanitize_line(&mut self.hostname, MAX_HOSTNAME);
        sanitize_line(&mut self.kernel, MAX_KERNEL);
        identifiers([("ip", &self.ip), ("agent_id", &self.agent_id)])
    }
}

impl Bounded for ProcessStatus {
    fn bound(&mut self) -> Result<(), WireError> {
        sanitize_line(&mut self.version, MAX_VERSION);
        sanitize_lines(&mut self.message, MAX_MESSAGE);
        let probes = self.probes.iter_mut();
        let probes = probes.flat_map(|probes| [&mut probes.ready, &mut probes.live]);
        for result in probes.chain([&mut self.health]).flatten() {
            sanitize_lines(&mut result.message, MAX_MESSAGE);
        }
        identifiers([("namespace", &self.namespace), ("name", &self.name)])
    }
}

impl Bounded for EventFrame {
    fn bound(&mut self) -> Result<(), WireError> {
        sanitize_lines(&mut self.reason, MAX_MESSAGE);
        identifiers([
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("kind", &self.kind),
        ])
    }
}

impl Bounded for Down {
    fn bound(&mut self) -> Result<(), WireError> {
        match &mut self.kind {
            Some(DownKind::Welcome(Welcome { server_version, .. })) => {
                sanitize_line(server_version, MAX_VERSION);
                Ok(())
            }
            Some(DownKind::Bye(Bye { reason, .. }) | DownKind::Move(Move { reason })) => {
                sanitize_lines(reason, MAX_MESSAGE);
                Ok(())
            }
            Some(DownKind::Desired(desired)) => {
                let named = desired.processes.iter().filter_map(|p| p.name.as_ref());
                named.chain(&desired.forget).try_for_each(name)?;
                let mut groups = desired.groups.iter();
                groups.try_for_each(|GroupSet { namespace, .. }| {
                    identifiers([("namespace", namespace)])
                })
            }
            Some(DownKind::Dependencies(Dependencies { states })) => {
                for state in states {
                    sanitize_line(&mut state.unmet, MAX_MESSAGE);
                    identifiers([("when", &state.when), ("place", &state.place)])?;
                    state.name.iter().try_for_each(name)?;
                }
                Ok(())
            }
            Some(DownKind::Command(command)) => command.name.iter().try_for_each(name),
            // An ask is JSON; an acknowledgement has no text.
            Some(DownKind::Ask(_) | DownKind::Ack(_)) | None => Ok(()),
        }
    }
}

impl Bounded for Enrol {
    fn bound(&mut self) -> Result<(), WireError> {
        identifiers([
            ("token", &self.token),
            ("ip", &self.ip),
            ("agent_id", &self.agent_id),
        ])
    }
}

impl Bounded for Enrolled {
    fn bound(&mut self) -> Result<(), WireError> {
        sanitize_lines(&mut self.refused, MAX_MESSAGE);
        identifiers([("agent_id", &self.agent_id)])
    }
}

fn name(name: &NameRef) -> Result<(), WireError> {
    identifiers([("namespace", &name.namespace), ("name", &name.name)])
}

fn identifiers<const N: usize>(fields: [(&'static str, &String); N]) -> Result<(), WireError> {
    match fields.iter().find(|(_, text)| text.len() > MAX_IDENTIFIER) {
        Some((field, _)) => Err(WireError::LongIdentifier { field }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use prost::Message;
    use tokio_util::codec::{Decoder, Encoder};

    use super::*;
    use crate::{Codec, Report, ResultFrame};

    /// The frame as its reader gets it.
    fn read<M: Message + Default + Bounded>(frame: M) -> Result<M, WireError> {
        let mut bytes = BytesMut::new();
        Codec::<M, M>::new().encode(frame, &mut bytes)?;
        let read = Codec::<M, M>::new().decode(&mut bytes)?;
        Ok(read.expect("the frame is whole"))
    }

    fn kind(frame: impl Into<Up>) -> UpKind {
        read(frame.into()).unwrap().kind.unwrap()
    }

    /// A megabyte of terminal escapes and right-to-left overrides.
    fn hostile() -> String {
        "\x1b[2J\u{202e}x\r".repeat(128 * 1024)
    }

    fn check(text: &str, max: usize) {
        assert_eq!(text.chars().count(), max.min(text.chars().count()));
        assert!(text.ends_with('…'), "{text}");
        assert!(text.starts_with("\\u{202e}x\\u{d}"), "{text}");
        assert!(!text.chars().any(model::text::must_be_escaped), "{text}");
    }

    #[test]
    fn every_text_of_a_hello_is_bounded() {
        let UpKind::Hello(hello) = kind(Hello {
            agent_version: hostile(),
            hostname: hostile(),
            kernel: hostile(),
            ..Default::default()
        }) else {
            panic!("no hello");
        };
        check(&hello.agent_version, MAX_VERSION);
        check(&hello.hostname, MAX_HOSTNAME);
        check(&hello.kernel, MAX_KERNEL);
    }

    #[test]
    fn every_text_of_a_status_is_bounded() {
        let status = ProcessStatus {
            version: hostile(),
            message: hostile(),
            ..Default::default()
        };
        let UpKind::Report(report) = kind(Report {
            statuses: vec![status.clone()],
        }) else {
            panic!("no report");
        };
        check(&report.statuses[0].version, MAX_VERSION);
        check(&report.statuses[0].message, MAX_MESSAGE);
        // The same without a codec in between.
        check(&status.into_status().message, MAX_MESSAGE);
    }

    #[test]
    fn every_text_of_an_event_and_of_a_refusal_is_bounded() {
        let event = EventFrame {
            reason: hostile(),
            ..Default::default()
        };
        let UpKind::Event(event) = kind(event) else {
            panic!("no event");
        };
        check(&event.reason, MAX_MESSAGE);
        let UpKind::Output(output) = kind(Output::refuse(1, hostile())) else {
            panic!("no output");
        };
        check(&output.refused, MAX_MESSAGE);
    }

    #[test]
    fn every_text_of_a_result_is_bounded_and_output_keeps_its_lines() {
        use model::operation::{CommandRun, MAX_OUTPUT, OutcomeSubject, ProcessInspection};
        use model::spec::raw::{MAX_COMMAND_LEN, MAX_PATH_LEN};
        let mut outcome =
            model::Outcome::plain(model::Code::COMMAND_FAILED, hostile(), model::UnixMillis(1));
        outcome.ran = Some(CommandRun {
            command: hostile(),
            exit: None,
            duration_ms: 1,
            output: format!("{}one\n\ttwo\x1b[0m\n", "x".repeat(MAX_OUTPUT)),
        });
        outcome.instance = Some(Box::new(ProcessInspection {
            cmdline: hostile(),
            version: hostile(),
            health: hostile(),
            stat: hostile(),
            ..Default::default()
        }));
        outcome.subject = Some(Box::new(OutcomeSubject {
            proc_name: hostile(),
            setup_path: hostile(),
            ..Default::default()
        }));
        let op = model::OpId {
            task: model::TaskId::from_number(1),
            ordinal: 0,
        };
        let read = ResultFrame::new(op, &outcome).outcome().unwrap();
        check(&read.message, MAX_MESSAGE);
        let ran = read.ran.unwrap();
        check(&ran.command, MAX_COMMAND_LEN);
        assert_eq!(ran.output.chars().count(), MAX_OUTPUT);
        assert!(ran.output.starts_with('…'));
        assert!(ran.output.ends_with("one\n\ttwo\x1b[0m\n"));
        let (instance, subject) = (read.instance.unwrap(), read.subject.unwrap());
        check(&instance.cmdline, MAX_COMMAND_LEN);
        check(&instance.version, MAX_VERSION);
        check(&instance.health, MAX_MESSAGE);
        check(&instance.stat, model::bounds::MAX_SHORT_TEXT);
        check(&subject.proc_name, MAX_PATH_LEN);
        check(&subject.setup_path, MAX_PATH_LEN);
    }

    #[test]
    fn texts_of_a_server_are_bounded_too() {
        let reason = hostile();
        let bye = Bye {
            reason: reason.clone(),
            ..Default::default()
        };
        let Some(DownKind::Bye(bye)) = read(Down::from(bye)).unwrap().kind else {
            panic!("no bye");
        };
        check(&bye.reason, MAX_MESSAGE);
        let Some(DownKind::Move(moved)) = read(Down::from(Move { reason })).unwrap().kind else {
            panic!("no move");
        };
        check(&moved.reason, MAX_MESSAGE);
        let welcome = Welcome {
            server_version: hostile(),
            ..Default::default()
        };
        let Some(DownKind::Welcome(welcome)) = read(Down::from(welcome)).unwrap().kind else {
            panic!("no welcome");
        };
        check(&welcome.server_version, MAX_VERSION);
        let enrolled = Enrolled {
            refused: hostile(),
            ..Default::default()
        };
        check(&read(enrolled).unwrap().refused, MAX_MESSAGE);
    }

    #[test]
    fn a_long_identifier_makes_a_frame_malformed() {
        let long = "x".repeat(MAX_IDENTIFIER + 1);
        let status = |namespace: &str, name: &str| Report {
            statuses: vec![ProcessStatus {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                ..Default::default()
            }],
        };
        let hello = Hello {
            ip: long.clone(),
            ..Default::default()
        };
        let event = EventFrame {
            kind: long.clone(),
            ..Default::default()
        };
        for (frame, field) in [
            (Up::from(status(&long, "n")), "namespace"),
            (status("n", &long).into(), "name"),
            (hello.into(), "ip"),
            (event.into(), "kind"),
        ] {
            let error = read(frame).unwrap_err();
            let WireError::LongIdentifier { field: named } = error else {
                panic!("{error}");
            };
            assert_eq!(named, field);
        }
        let enrol = Enrol {
            token: long,
            ..Default::default()
        };
        assert!(read(enrol).is_err());
    }
}
