"""Other spellings of what is held back, and inputs that cannot be read: no grant of plain reads admits them."""

from __future__ import annotations

import pytest

from catalog.shipped import FORM, Ask, plain_reads

GITHUB = "https://api.github.com/repos/o/r"
EC2 = "POST https://ec2.eu-west-1.amazonaws.com/"
LOGS = "POST https://logs.eu-west-1.amazonaws.com/"
PODS = "https://kubernetes.example/api/v1/namespaces/shop"

SPELLINGS = [
    f"GET {GITHUB}/actions/secrets",
    f"GET {GITHUB}/actions/secrets/",
    f"GET {GITHUB}/actions//secrets",
    f"GET {GITHUB}/actions/Secrets",
    f"GET {GITHUB}/actions/%73ecrets",
    f"GET {GITHUB}/actions/secrets;v=1",
    f"GET {GITHUB}/actions%2Fsecrets",
    f"GET {GITHUB}/branches/x%2F..%2F..%2Factions%2Fsecrets",
    f"GET {GITHUB}/secret-scanning/alerts/7",
    f"GET {GITHUB}/contents/../actions/secrets",
    f"GET {PODS}/secrets",
    f"GET {PODS}/Secrets/db",
    f"GET {PODS}/pods/../secrets",
    f"GET {PODS}/services/web/proxy/admin",
    f"GET {PODS}/services/web%2Fproxy%2Fadmin",
    f"GET {PODS}/pods/web-0/exec?command=sh",
    "GET https://registry.npmjs.org/-/whoami",
    "GET https://registry.npmjs.org/-%2Fwhoami",
    "GET https://registry.npmjs.org/-/npm/v1/tokens",
    "GET https://github.com/o/r.git/info/refs?service=git-receive-pack",
    "GET https://github.com/o/r.git/info/refs?service=git-upload-pack&service=git-receive-pack",
    "GET https://github.com/o/r.git/info/refs?Service=git-receive-pack",
    "POST https://github.com/o/r.git/Git-Receive-Pack",
    "GET https://auth.docker.io/token?service=registry.docker.io&scope=repository:a/b:pull,push",
    "GET https://auth.docker.io/token?service=registry.docker.io&scope=repository:a/b:pull&scope=repository:c/d:push",
    "GET https://auth.docker.io/token?service=registry.docker.io&scope=repository:a/b:push%20repository:a/b:pull",
    "GET https://pypi.org/simple/requests/?x=secret",
    "GET https://bucket.s3.amazonaws.com/?policy&acl&session",
    "POST https://slack.com/api/chat.postMessage",
    "POST https://slack.com/api/Admin.users.invite",
    "GET https://slack.com/api/apps.connections.open",
]


@pytest.mark.parametrize("request_line", SPELLINGS)
def test_no_spelling_of_it_passes_as_a_read(request_line: str) -> None:
    assert Ask(request_line).refused(plain_reads())


UNREADABLE = [
    Ask(EC2, FORM, "Action=DescribeInstances&Action=TerminateInstances"),
    Ask(EC2 + "?Action=TerminateInstances", FORM, "Action=DescribeInstances"),
    Ask(EC2, {"Content-Type": "multipart/form-data; boundary=x"}, "Action=DescribeInstances"),
    Ask(EC2, {"Content-Type": "application/json"}, "Action=DescribeInstances"),
    Ask(EC2, FORM | {"Content-Encoding": "gzip"}, "Action=DescribeInstances"),
    Ask(EC2, FORM, "action=TerminateInstances&Action=DescribeInstances"),
    Ask(EC2, FORM, "Action=Describe%zz"),
    Ask(EC2, FORM, "Action=GetPasswordData&InstanceId=i-1"),
    Ask(LOGS, {"X-Amz-Target": "Logs_20140328.DeleteLogGroup"}, "{}"),
    Ask(LOGS, {"X-Amz-Target": "logs_20140328.deleteloggroup"}, "{}"),
    Ask("POST https://ssm.eu-west-1.amazonaws.com/", {"X-Amz-Target": "AmazonSSM.GetParametersByPath"}, "{}"),
    Ask("POST https://iam.amazonaws.com/", FORM, "Action=CreateAccessKey&UserName=x"),
    Ask("POST https://sts.amazonaws.com/", FORM, "Action=GetSessionToken"),
    Ask(f"GET {PODS}/pods", {"Impersonate-User": "admin"}),
    Ask(f"GET {GITHUB}/actions/runs", {}, "a body"),
    Ask(f"GET {GITHUB}/actions/runs", {"X-HTTP-Method-Override": "DELETE"}),
]  # fmt: skip


@pytest.mark.parametrize("ask", UNREADABLE, ids=lambda ask: f"{ask.request} {ask.body[:48]}")
def test_what_cannot_be_read_passes_as_no_read(ask: Ask) -> None:
    assert ask.refused(plain_reads())
