//! The bytes of a log entry.
//!
//! An entry is one or more parts, a part is a sequence of blocks, and a block is rows of one table. A number is stored as the
//! difference to the row before, and a text that equals the one in the row before takes one byte. Rows of one commit look
//! alike: ten thousand registrations take about ten bytes each.

use std::mem::take;

use super::{LoggedTable, RowKind};
use crate::Cause;
use crate::sql::Value;

/// A part is full at this size. It may be longer by one row.
const PART_BYTES: usize = 1 << 20;

/// Stands for a value that is NULL.
const NULL: u128 = 0;
/// Stands for a value that equals the one in the row before.
const SAME: u128 = 1;
/// What is added to lengths and differences, because of these two.
const OFFSET: u128 = 2;

/// Collects the parts of one entry.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    full: Vec<Vec<u8>>,
    part: Vec<u8>,
}

impl Encoder {
    /// Adds rows, given as their values one after the other.
    pub(super) fn add(
        &mut self,
        table: LoggedTable,
        kind: RowKind,
        n_columns: usize,
        values: &[Value],
    ) {
        let mut block = Vec::new();
        let mut n_rows = 0;
        let mut before: &[Value] = &[];
        let mut rows = values.chunks_exact(n_columns).peekable();
        while let Some(row) = rows.next() {
            for (n, value) in row.iter().enumerate() {
                push_value(&mut block, value, before.get(n));
            }
            n_rows += 1;
            before = row;
            let is_full = self.part.len() + block.len() >= PART_BYTES;
            if is_full || rows.peek().is_none() {
                self.part.extend([table as u8, kind as u8, n_columns as u8]);
                push_varint(&mut self.part, u128::from(integers(row)));
                push_varint(&mut self.part, take(&mut n_rows));
                self.part.append(&mut block);
                before = &[];
            }
            if is_full {
                self.full.push(take(&mut self.part));
            }
        }
    }

    /// At least one part, even for an entry without rows.
    pub(super) fn finish(mut self) -> Vec<Vec<u8>> {
        if !self.part.is_empty() || self.full.is_empty() {
            self.full.push(self.part);
        }
        self.full
    }
}

/// Which columns are numbers: a bit each.
fn integers(row: &[Value]) -> u32 {
    let bits = row.iter().enumerate();
    bits.filter(|(_, value)| matches!(value, Value::Int(_)))
        .fold(0, |mask, (n, _)| mask | 1 << n)
}

fn push_value(bytes: &mut Vec<u8>, value: &Value, before: Option<&Value>) {
    match value {
        Value::Int(None) | Value::Text(None) | Value::Shared(None) | Value::Bytes(None) => {
            push_varint(bytes, NULL);
        }
        value if before == Some(value) => push_varint(bytes, SAME),
        Value::Int(Some(number)) => {
            let before = match before {
                Some(Value::Int(Some(before))) => *before,
                _ => 0,
            };
            let difference = i128::from(*number) - i128::from(before);
            // Zigzag: small differences of either sign are small numbers.
            let zigzag = (difference << 1) ^ (difference >> 127);
            push_varint(bytes, zigzag.cast_unsigned() + OFFSET);
        }
        Value::Text(Some(text)) => push_bytes(bytes, text.as_bytes()),
        Value::Shared(Some(text)) => push_bytes(bytes, text.as_bytes()),
        Value::Bytes(Some(value)) => push_bytes(bytes, value),
    }
}

fn push_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    push_varint(bytes, value.len() as u128 + OFFSET);
    bytes.extend_from_slice(value);
}

/// Seven bits a byte, the lowest first.
fn push_varint(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A value in the bytes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LoggedValue<'a> {
    Null,
    Int(i64),
    Bytes(&'a [u8]),
}

/// Calls `row` with each row of a part, in the order in which they were added.
pub(super) fn decode<'a, E: From<Cause>>(
    part: &'a [u8],
    mut row: impl FnMut(LoggedTable, RowKind, &[LoggedValue<'a>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = PartReader(part);
    while !reader.0.is_empty() {
        let table = LoggedTable::from_number(reader.byte()?)?;
        let kind = RowKind::from_number(reader.byte()?)?;
        let n_columns = usize::from(reader.byte()?);
        let integers = reader.varint()?;
        let n_rows = reader.varint()?;
        let mut values = vec![LoggedValue::Null; n_columns];
        for _ in 0..n_rows {
            for (n, value) in values.iter_mut().enumerate() {
                *value = reader.value(integers & (1 << n) != 0, *value)?;
            }
            row(table, kind, &values)?;
        }
    }
    Ok(())
}

/// The rest of a part.
struct PartReader<'a>(&'a [u8]);

impl<'a> PartReader<'a> {
    fn byte(&mut self) -> Result<u8, Cause> {
        let (byte, rest) = self.0.split_first().ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn varint(&mut self) -> Result<u128, Cause> {
        let mut number = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too long".into())
    }

    fn value(
        &mut self,
        is_integer: bool,
        before: LoggedValue<'a>,
    ) -> Result<LoggedValue<'a>, Cause> {
        let number = match self.varint()? {
            NULL => return Ok(LoggedValue::Null),
            SAME => return Ok(before),
            number => number - OFFSET,
        };
        if is_integer {
            let before = match before {
                LoggedValue::Int(before) => i128::from(before),
                LoggedValue::Null | LoggedValue::Bytes(_) => 0,
            };
            let difference = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
            return Ok(LoggedValue::Int(i64::try_from(before + difference)?));
        }
        let (bytes, rest) = usize::try_from(number)
            .ok()
            .and_then(|length| self.0.split_at_checked(length))
            .ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(LoggedValue::Bytes(bytes))
    }
}

const CUT_SHORT: &str = "it is cut short";

#[cfg(test)]
mod tests {
    use super::*;

    type Decoded = Vec<(LoggedTable, RowKind, Vec<Value>)>;

    fn decoded(parts: &[Vec<u8>]) -> Result<Decoded, Cause> {
        let mut rows = Vec::new();
        for part in parts {
            decode(part, |table, kind, values| {
                let values = values.iter().map(|value| match value {
                    LoggedValue::Null => Value::Int(None),
                    LoggedValue::Int(number) => Value::Int(Some(*number)),
                    LoggedValue::Bytes(bytes) => Value::Bytes(Some(bytes.to_vec())),
                });
                rows.push((table, kind, values.collect()));
                Ok::<_, Cause>(())
            })?;
        }
        Ok(rows)
    }

    fn row(number: i64, bytes: &[u8]) -> Vec<Value> {
        vec![
            number.into(),
            bytes.into(),
            Value::Int(None),
            i64::MAX.into(),
        ]
    }

    #[test]
    fn rows_read_back_as_they_were_added() {
        let rows = [
            row(i64::MIN, b""),
            row(i64::MAX, b"text"),
            row(-1, b"text"),
            row(0, &[0; 300]),
        ];
        let mut encoder = Encoder::default();
        encoder.add(LoggedTable::Hosts, RowKind::Live, 4, &rows.concat());
        encoder.add(LoggedTable::Apps, RowKind::Gone, 1, &[Value::from("id")]);
        let parts = encoder.finish();
        assert_eq!(parts.len(), 1);
        let mut expected =
            Vec::from(rows.map(|values| (LoggedTable::Hosts, RowKind::Live, values)));
        let gone = vec![Value::from(&b"id"[..])];
        expected.push((LoggedTable::Apps, RowKind::Gone, gone));
        assert_eq!(decoded(&parts).unwrap(), expected);
    }

    #[test]
    fn a_large_entry_is_cut_into_parts() {
        let rows = (0_i64..5).map(|n| [n.into(), vec![7; 400_000].into()]);
        let values: Vec<Value> = rows.flatten().collect();
        let mut encoder = Encoder::default();
        for row in values.chunks(2) {
            encoder.add(LoggedTable::Businesses, RowKind::Live, 2, row);
        }
        let parts = encoder.finish();
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|part| part.len() < PART_BYTES + 500_000));
        let rows = decoded(&parts).unwrap();
        assert_eq!(
            rows.into_iter().flat_map(|row| row.2).collect::<Vec<_>>(),
            values
        );
    }

    #[test]
    fn a_part_that_is_cut_short_is_refused() {
        let mut encoder = Encoder::default();
        encoder.add(LoggedTable::Hosts, RowKind::Live, 4, &row(7, b"seven"));
        let part = encoder.finish().remove(0);
        for n in 1..part.len() {
            assert!(decoded(&[part[..n].to_vec()]).is_err(), "{n} bytes");
        }
        assert_eq!(
            decoded(&[Encoder::default().finish().remove(0)]).unwrap(),
            []
        );
    }
}
