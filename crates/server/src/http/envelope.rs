//! The envelope of the BlueKing dialects. It always comes with HTTP 200, because clients raise on anything else.

use serde::Serialize;

#[derive(Serialize)]
struct Envelope<'a, T> {
    result: bool,
    code: i64,
    message: &'a str,
    data: T,
}

/// Writes a good answer straight into its bytes; `data` may read from the fleet as it is written.
pub(crate) fn good<T: Serialize>(message: &str, data: T) -> Vec<u8> {
    let envelope = Envelope {
        result: true,
        code: 0,
        message,
        data,
    };
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, &envelope).expect("answers have only string keys");
    bytes
}

pub(crate) fn refused(code: i64, message: &str) -> Vec<u8> {
    let envelope = Envelope {
        result: false,
        code,
        message,
        data: (),
    };
    serde_json::to_vec(&envelope).expect("a refusal has only string keys")
}
