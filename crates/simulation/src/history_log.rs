//! The log of a history, printed when it fails.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use tokio::time::Instant;

#[derive(Debug, Clone, Default)]
pub(crate) struct HistoryLog {
    lines: Rc<RefCell<Vec<String>>>,
    began: Rc<OnceCell<Instant>>,
}

impl HistoryLog {
    pub(crate) fn note(&self, line: impl AsRef<str>) {
        let at = self.began.get_or_init(Instant::now).elapsed().as_secs_f64();
        let line = format!("{at:10.3} s  {}", line.as_ref());
        self.lines.borrow_mut().push(line);
    }

    pub(crate) fn text(&self) -> String {
        self.lines.borrow().join("\n")
    }
}
