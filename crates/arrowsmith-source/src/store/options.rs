// SPDX-License-Identifier: Apache-2.0
//! [`StoreOptions`]: settings of a store that the caller gives, beside those of the environment.

use std::fmt;

use arrowsmith_core::{Error, Result};
use object_store::aws::AmazonS3ConfigKey as S3;
use object_store::azure::AzureConfigKey as Azure;
use object_store::gcp::GoogleConfigKey as Google;
use object_store::{ClientConfigKey, ClientOptions, ObjectStoreScheme};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// Settings by the names of their environment variables, in small letters, with or without the name
/// of the store before them: `aws_region`, `region`; those of polars. For `https://` there are
/// headers, and `token`, which is sent as `Authorization: Bearer`.
///
/// They come before those of the environment. Whoever gives credentials uses none of its.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreOptions {
    settings: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

/// Names only: the values are secrets.
impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.settings.iter().chain(&self.headers).map(|(name, _)| name))
            .finish()
    }
}

impl StoreOptions {
    /// These settings, and these headers of requests.
    pub fn new(settings: Vec<(String, String)>, headers: Vec<(String, String)>) -> Self {
        let small = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        Self { settings: settings.into_iter().map(small).collect(), headers }
    }

    /// All settings for a store: those of `environment` that stay, then these.
    ///
    /// # Errors
    /// [`Error::Config`] if the store has no such setting, which would be ignored.
    pub(super) fn over(
        &self,
        environment: impl Iterator<Item = (String, String)>,
        of: &ObjectStoreScheme,
    ) -> Result<Vec<(String, String)>> {
        if let Some((name, _)) = self.settings.iter().find(|(name, _)| !is_known(of, name)) {
            let message = format!("storage_options: there is no {name:?} for {}", common(of));
            return Err(Error::Config(message));
        }
        if !self.headers.is_empty() && *of != ObjectStoreScheme::Http {
            let message = format!("storage_options: headers are for https://, for {}", common(of));
            return Err(Error::Config(message));
        }
        let has_credentials = self.settings.iter().any(|(name, _)| is_credential(of, name));
        let mut all: Vec<(String, String)> =
            environment.filter(|(name, _)| !(has_credentials && is_credential(of, name))).collect();
        // Who writes http:// means it.
        let is_plain = |(name, value): &(String, String)| {
            (name.contains("endpoint") || name.ends_with("base_url"))
                && value.starts_with("http://")
        };
        if self.settings.iter().any(is_plain) {
            all.push(("allow_http".to_owned(), "true".to_owned()));
        }
        all.extend(self.settings.iter().cloned());
        Ok(all)
    }

    /// The client of `https://`; `settings` are those of [`StoreOptions::over`].
    pub(super) fn client(&self, settings: &[(String, String)]) -> Result<ClientOptions> {
        // A file may take longer than a request should: what has to come in time is the next piece.
        let mut client = ClientOptions::new()
            .with_timeout_disabled()
            .with_config(ClientConfigKey::ReadTimeout, "30 seconds");
        for (name, value) in settings {
            if let Ok(key) = name.parse::<ClientConfigKey>() {
                client = client.with_config(key, value);
            }
        }
        let mut headers = HeaderMap::new();
        let token = self.settings.iter().find(|(name, _)| name == "token");
        let token = token.map(|(_, token)| (AUTHORIZATION.as_str(), format!("Bearer {token}")));
        let given = self.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in token.into_iter().chain(given) {
            let (Ok(header), Ok(mut value)) =
                (name.parse::<HeaderName>(), HeaderValue::try_from(value))
            else {
                let message = format!("storage_options: headers: {name:?} is not a header of HTTP");
                return Err(Error::Config(message));
            };
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(client.with_default_headers(headers))
    }
}

fn is_known(of: &ObjectStoreScheme, name: &str) -> bool {
    match of {
        ObjectStoreScheme::AmazonS3 => name.parse::<S3>().is_ok(),
        ObjectStoreScheme::GoogleCloudStorage => name.parse::<Google>().is_ok(),
        ObjectStoreScheme::MicrosoftAzure => name.parse::<Azure>().is_ok(),
        _ => name == "token" || name.parse::<ClientConfigKey>().is_ok(),
    }
}

/// Whether a setting decides who signs requests, and how.
fn is_credential(of: &ObjectStoreScheme, name: &str) -> bool {
    match of {
        ObjectStoreScheme::AmazonS3 => name.parse().is_ok_and(|key| {
            use S3::{
                AccessKeyId, ContainerCredentialsFullUri, ContainerCredentialsRelativeUri, RoleArn,
                SecretAccessKey, SkipSignature, Token, WebIdentityTokenFile,
            };
            matches!(key, AccessKeyId | SecretAccessKey | Token | RoleArn | SkipSignature)
                || matches!(key, ContainerCredentialsFullUri | ContainerCredentialsRelativeUri)
                || matches!(key, WebIdentityTokenFile)
        }),
        ObjectStoreScheme::GoogleCloudStorage => name.parse().is_ok_and(|key| {
            use Google::{
                ApplicationCredentials, BearerToken, ServiceAccount, ServiceAccountKey,
                SkipSignature,
            };
            matches!(key, ApplicationCredentials | BearerToken | SkipSignature)
                || matches!(key, ServiceAccount | ServiceAccountKey)
        }),
        ObjectStoreScheme::MicrosoftAzure => name.parse().is_ok_and(|key| {
            use Azure::{
                AccessKey, ClientId, ClientSecret, FederatedTokenFile, SasKey, SkipSignature, Token,
            };
            matches!(key, AccessKey | ClientId | ClientSecret | FederatedTokenFile)
                || matches!(key, SasKey | SkipSignature | Token)
        }),
        _ => false,
    }
}

/// The settings that are needed most.
fn common(of: &ObjectStoreScheme) -> &'static str {
    match of {
        ObjectStoreScheme::AmazonS3 => {
            "s3://: there are aws_access_key_id, aws_secret_access_key, aws_session_token, \
             aws_region, aws_endpoint_url, aws_skip_signature, …"
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            "gs://: there are google_service_account (a file), google_service_account_key, \
             google_bearer_token, google_skip_signature, …"
        }
        ObjectStoreScheme::MicrosoftAzure => {
            "az://: there are account_name, account_key, sas_token, tenant_id, client_id, \
             client_secret, azure_skip_signature, …"
        }
        _ => "https://: there are token, headers, timeout, proxy_url, …",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_come_before_the_environment() {
        let environment = || {
            let all = [("aws_region", "a"), ("aws_session_token", "SECRET"), ("aws_endpoint", "e")];
            pairs(&all).into_iter()
        };
        let s3 = ObjectStoreScheme::AmazonS3;
        let options = StoreOptions::new(pairs(&[("AWS_Region", "b")]), Vec::new());
        let all = options.over(environment(), &s3).unwrap();
        assert_eq!(all.last().unwrap(), &("aws_region".to_owned(), "b".to_owned()));
        assert!(all.iter().any(|(name, _)| name == "aws_session_token"));
        // A token of the environment belongs to its key.
        let given = [("access_key_id", "i"), ("endpoint_url", "http://localhost:9000")];
        let options = StoreOptions::new(pairs(&given), Vec::new());
        let all = options.over(environment(), &s3).unwrap();
        assert!(!all.iter().any(|(name, _)| name == "aws_session_token"));
        assert!(all.contains(&("allow_http".to_owned(), "true".to_owned())));
    }

    #[test]
    fn unknown_settings_are_named_and_secrets_are_not() {
        let secret = StoreOptions::new(pairs(&[("toke", "SECRET")]), pairs(&[("X-Key", "SECRET")]));
        for (of, expected) in [
            (ObjectStoreScheme::AmazonS3, "aws_access_key_id"),
            (ObjectStoreScheme::GoogleCloudStorage, "google_service_account"),
            (ObjectStoreScheme::MicrosoftAzure, "account_key"),
            (ObjectStoreScheme::Http, "token, headers"),
        ] {
            let error = secret.over(std::iter::empty(), &of).unwrap_err().to_string();
            assert!(error.contains("no \"toke\"") && error.contains(expected), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
        assert_eq!(format!("{secret:?}"), "{\"toke\", \"X-Key\"}");
        let header = StoreOptions::new(Vec::new(), pairs(&[("X Key", "SECRET")]));
        let error = header.over(std::iter::empty(), &ObjectStoreScheme::AmazonS3).unwrap_err();
        assert!(error.to_string().contains("headers are for https://"), "{error}");
        let error = header.client(&[]).unwrap_err().to_string();
        assert!(error.contains("\"X Key\" is not a header"), "{error}");
        assert!(!format!("{:?}", header.client(&[])).contains("SECRET"));
    }
}
