// SPDX-License-Identifier: Apache-2.0
//! Authentication of calls: bearer tokens, and users with passwords who get one by a handshake. TLS
//! checks certificates.

use std::fmt;

use arrow_flight::BasicAuth;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::HeaderMap;
use ring::hmac;
use tonic::Status;
use tonic_prost::prost::Message as _;

use crate::ticket::{Purpose, Signer};

/// Header in which old handshakes put their token.
const TOKEN_HEADER: &str = "auth-token-bin";

/// Whom to let in; everybody when it is empty.
#[derive(Clone, Default)]
pub struct Access {
    /// Tokens that are good as long as the server runs.
    pub tokens: Vec<String>,
    /// Names and passwords.
    pub users: Vec<(String, String)>,
}

/// Without secrets.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access {{ tokens: {}, users: {} }}", self.tokens.len(), self.users.len())
    }
}

impl Access {
    /// Reads `user:password` lines; empty lines and comments (`#`) are skipped.
    ///
    /// # Errors
    /// The number of an invalid line.
    pub fn users_of(text: &str) -> Result<Vec<(String, String)>, usize> {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        lines
            .map(|(number, line)| match line.split_once(':') {
                Some((user, password)) if !user.is_empty() && !password.is_empty() => {
                    Ok((user.to_owned(), password.to_owned()))
                }
                _ => Err(number + 1),
            })
            .collect()
    }

    fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.users.is_empty()
    }
}

/// Decides about calls.
pub(crate) struct Guard {
    access: Access,
    signer: Signer,
}

impl Guard {
    pub(crate) fn new(access: Access, signer: Signer) -> Self {
        Self { access, signer }
    }

    /// Whether a call with these headers is authorized.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Status> {
        if self.access.is_open() {
            return Ok(());
        }
        if let Some(token) = headers.get(TOKEN_HEADER) {
            // Binary headers are base64, with or without padding.
            let text = token.as_bytes();
            let text: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'=').collect();
            let token = base64::prelude::BASE64_STANDARD_NO_PAD
                .decode(text)
                .map_err(|_| Status::unauthenticated("the token is not base64"))?;
            return self.token(&token);
        }
        let header = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match header.and_then(|header| header.split_once(' ')) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                self.token(token.trim().as_bytes())
            }
            Some((scheme, basic)) if scheme.eq_ignore_ascii_case("basic") => {
                self.basic(basic.trim()).map(|_| ())
            }
            _ => Err(Status::unauthenticated(
                "a header `authorization: Bearer …` is needed, or a handshake with a password",
            )),
        }
    }

    fn token(&self, token: &[u8]) -> Result<(), Status> {
        if self.access.tokens.iter().any(|allowed| equal(allowed.as_bytes(), token)) {
            return Ok(());
        }
        let sealed = BASE64_STANDARD
            .decode(token)
            .map_err(|_| Status::unauthenticated("this token is not known here"))?;
        let user = self.signer.open(Purpose::Bearer, &sealed)?;
        // A user who was removed is not authorized either.
        match self.access.users.iter().any(|(name, _)| name.as_bytes() == user) {
            true => Ok(()),
            false => Err(Status::unauthenticated("this user is not known any more")),
        }
    }

    fn basic(&self, encoded: &str) -> Result<String, Status> {
        let refuse = || Status::unauthenticated("user and password as base64 of `user:password`");
        let text = BASE64_STANDARD.decode(encoded).map_err(|_| refuse())?;
        let text = String::from_utf8(text).map_err(|_| refuse())?;
        let (user, password) = text.split_once(':').ok_or_else(refuse)?;
        self.password(user, password)
    }

    /// A token for this user.
    fn password(&self, user: &str, password: &str) -> Result<String, Status> {
        // All are compared, so that timing does not reveal which names exist.
        let known = self.access.users.iter().fold(false, |known, (name, word)| {
            let same = equal(name.as_bytes(), user.as_bytes());
            known | (same & equal(word.as_bytes(), password.as_bytes()))
        });
        if !known {
            return Err(Status::unauthenticated("user or password is wrong"));
        }
        Ok(BASE64_STANDARD.encode(self.signer.seal(Purpose::Bearer, user.as_bytes())))
    }

    /// The token that a handshake returns: for `authorization: Basic …`, or for a message with user
    /// and password.
    pub(crate) fn handshake(
        &self,
        headers: &HeaderMap,
        payload: Option<Bytes>,
    ) -> Result<String, Status> {
        let header = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some((scheme, basic)) = header.and_then(|header| header.split_once(' '))
            && scheme.eq_ignore_ascii_case("basic")
        {
            if self.access.is_open() {
                return Ok(String::new());
            }
            return self.basic(basic.trim());
        }
        if self.access.is_open() {
            return Ok(String::new());
        }
        let payload = payload.unwrap_or_default();
        let auth = BasicAuth::decode(payload)
            .map_err(|_| Status::unauthenticated("a handshake says user and password"))?;
        self.password(&auth.username, &auth.password)
    }
}

/// Constant-time comparison, also for different lengths.
fn equal(ours: &[u8], theirs: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"comparison");
    let tag = hmac::sign(&key, theirs);
    hmac::verify(&key, ours, tag.as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn guard(lifetime: u64) -> Guard {
        let access = Access {
            tokens: vec!["static".to_owned()],
            users: Access::users_of("# us\nada:love\n\n").unwrap(),
        };
        Guard::new(access, Signer::new(b"k", Duration::from_secs(lifetime)))
    }

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::AUTHORIZATION, value.parse().unwrap());
        headers
    }

    #[test]
    fn a_handshake_gives_a_token_that_lets_in() {
        let guard = guard(60);
        let basic = format!("Basic {}", BASE64_STANDARD.encode("ada:love"));
        let token = guard.handshake(&headers(&basic), None).unwrap();
        guard.check(&headers(&format!("Bearer {token}"))).unwrap();
        let message = BasicAuth { username: "ada".to_owned(), password: "love".to_owned() };
        let payload = Some(message.encode_to_vec().into());
        let token = guard.handshake(&HeaderMap::new(), payload).unwrap();
        let mut binary = HeaderMap::new();
        binary.insert(TOKEN_HEADER, BASE64_STANDARD.encode(token).parse().unwrap());
        guard.check(&binary).unwrap();
        guard.check(&headers("Bearer static")).unwrap();
    }

    #[test]
    fn whoever_does_not_know_stays_outside() {
        let guard = guard(60);
        let wrong = format!("Basic {}", BASE64_STANDARD.encode("ada:hate"));
        for value in ["Bearer nothing", "Bearer ", "Basic x", &wrong, "nonsense"] {
            let error = guard.check(&headers(value)).unwrap_err();
            assert_eq!(error.code(), tonic::Code::Unauthenticated, "{value}");
            assert!(guard.handshake(&headers(value), None).is_err());
        }
        assert!(guard.check(&HeaderMap::new()).is_err());
        assert_eq!(Access::users_of("ada:x\nbob"), Err(2));
    }

    #[test]
    fn tokens_expire() {
        let guard = guard(0);
        let basic = format!("Basic {}", BASE64_STANDARD.encode("ada:love"));
        let token = guard.handshake(&headers(&basic), None).unwrap();
        let error = guard.check(&headers(&format!("Bearer {token}"))).unwrap_err();
        assert!(error.message().contains("expired"), "{error}");
    }
}
