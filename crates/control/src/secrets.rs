//! Generates, hashes and compares secrets. Comparing takes constant time.

use std::num::NonZeroU32;

use model::access::{HashScheme, SecretHash};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// Rounds of PBKDF2 for new passwords.
const PASSWORD_ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).expect("not zero");
const SALT_LEN: usize = 16;
const HASH_LEN: usize = 32;

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the operating system has randomness");
    bytes
}

pub(crate) fn random_u32() -> u32 {
    u32::from_le_bytes(random())
}

pub(crate) fn random_u64() -> u64 {
    u64::from_le_bytes(random())
}

/// 160 bits as forty hexadecimal digits: long enough that one round of SHA-256 protects it.
pub(crate) fn new_secret() -> String {
    hex(&random::<20>())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(text: &str) -> [u8; HASH_LEN] {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// For secrets that are checked on every request.
pub(crate) fn hash_secret(secret: &str) -> SecretHash {
    let salt = random::<SALT_LEN>().to_vec();
    let hash = salted(&salt, secret).to_vec();
    SecretHash {
        scheme: HashScheme::Sha256,
        salt,
        hash,
    }
}

/// For passwords: slow on purpose.
pub(crate) fn hash_password(password: &str) -> SecretHash {
    let salt = random::<SALT_LEN>().to_vec();
    let mut hash = vec![0; HASH_LEN];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        PASSWORD_ROUNDS,
        &salt,
        password.as_bytes(),
        &mut hash,
    );
    SecretHash {
        scheme: HashScheme::Pbkdf2 {
            rounds: PASSWORD_ROUNDS.get(),
        },
        salt,
        hash,
    }
}

/// The same on a thread that may block.
pub(crate) async fn hash_password_elsewhere(password: &str) -> SecretHash {
    let password = password.to_owned();
    let hashing = tokio::task::spawn_blocking(move || hash_password(&password));
    hashing.await.expect("hashing does not panic")
}

/// Whether this is the hashed secret. Takes constant time.
pub(crate) fn verify(hash: &SecretHash, secret: &str) -> bool {
    match hash.scheme {
        HashScheme::Sha256 => equal(&salted(&hash.salt, secret), &hash.hash),
        HashScheme::Pbkdf2 { rounds } => NonZeroU32::new(rounds).is_some_and(|rounds| {
            pbkdf2::verify(
                pbkdf2::PBKDF2_HMAC_SHA256,
                rounds,
                &hash.salt,
                secret.as_bytes(),
                &hash.hash,
            )
            .is_ok()
        }),
    }
}

fn salted(salt: &[u8], secret: &str) -> [u8; HASH_LEN] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(salt);
    context.update(secret.as_bytes());
    context
        .finish()
        .as_ref()
        .try_into()
        .expect("SHA-256 has 32 bytes")
}

/// Compares HMACs of both under a random key, so that timing says nothing about the bytes.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &random::<HASH_LEN>());
    hmac::verify(&key, a, hmac::sign(&key, b).as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_itself_verifies() {
        for hash in [hash_secret("s3cret"), hash_password("s3cret")] {
            assert!(verify(&hash, "s3cret"));
            for wrong in ["", "s3cre", "s3cret ", "S3cret"] {
                assert!(!verify(&hash, wrong), "{wrong:?}");
            }
        }
    }

    #[test]
    fn hashes_of_the_same_secret_differ() {
        assert_ne!(hash_secret("x"), hash_secret("x"));
        assert_ne!(new_secret(), new_secret());
    }
}
