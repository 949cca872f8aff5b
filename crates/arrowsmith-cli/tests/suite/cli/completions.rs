// SPDX-License-Identifier: Apache-2.0
//! Generated text: completions that shells accept, manual pages of all commands.

use std::process::Command;

use crate::cli::run::Folder;

/// Every command that users see, from the help.
fn commands(folder: &Folder) -> Vec<String> {
    let ran = folder.run(&["--help"]);
    let help = String::from_utf8(ran.assert_status(0).stdout.clone()).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn completions_name_every_command() {
    let folder = Folder::new();
    let commands = commands(&folder);
    assert!(commands.iter().any(|name| name == "convert"), "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let ran = folder.run(&["completions", shell]);
        let script = String::from_utf8(ran.assert_status(0).stdout.clone()).unwrap();
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not complete {command}");
        }
        assert!(script.contains("infer-timestamps"), "{shell} does not complete options");
        assert!(script.contains("reference"), "{shell} does not complete values");
    }
    folder.run(&["completions", "csh"]).assert_status(2);
}

#[test]
fn bash_completes_a_command_and_its_option() {
    let folder = Folder::new();
    let script = folder.run(&["completions", "bash"]).stdout;
    folder.write("arrowsmith.bash", script);
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./arrowsmith.bash; COMP_WORDS=({words}); COMP_CWORD={at}; \
             _arrowsmith arrowsmith \"${{COMP_WORDS[$COMP_CWORD]}}\" \"\"; echo \"${{COMPREPLY[*]}}\""
        );
        let ran = Command::new("bash")
            .args(["--norc", "-c", &script])
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(complete("arrowsmith conv", 1), "convert\n");
    assert_eq!(complete("arrowsmith convert --infer-time", 2), "--infer-timestamps\n");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let pages = folder.path("man");
    folder.run(&["man", pages.to_str().unwrap()]).assert_status(0);
    for command in commands(&folder).iter().filter(|name| *name != "help") {
        let name = format!("man/arrowsmith-{command}.1");
        let page = String::from_utf8(folder.read(&name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let page = String::from_utf8(folder.read("man/arrowsmith-convert.1")).unwrap();
    assert!(page.contains("infer\\-timestamps"), "{page}");
    assert!(!folder.path("man/arrowsmith-man.1").exists(), "what users do not see has no page");
    folder.write("file", "");
    folder.run(&["man", "file"]).assert_status(1);
}
