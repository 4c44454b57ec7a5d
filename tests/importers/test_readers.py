"""Vendors' descriptions become operations and the calls that reach them."""

from __future__ import annotations

import pytest

from effectgate.importers.botocore import Levels, endpoint_hosts, read_botocore
from effectgate.importers.discovery import read_discovery
from effectgate.importers.discovery import service_of as google_service
from effectgate.importers.openapi import Reading, read_openapi
from effectgate.importers.operation import Access, Carrier, Service
from effectgate.importers.paths import pack_path
from importers.made import QUEUES, discovery_document, openapi_document, service_2

LEVELS = Levels({"getqueue": "Read", "addpermission": "Permissions management", "deletequeue": "Write"})
TICKETS = Reading(Service("tickets", "Tickets"))


def test_a_query_service_is_told_by_its_action_in_form_or_query() -> None:
    (operation,) = read_botocore(service_2("query", "GetQueue"), None, QUEUES, LEVELS)
    posted, got = operation.calls
    assert (posted.method, posted.carrier, posted.name, posted.value) == ("POST", Carrier.FORM, "Action", "GetQueue")
    assert (got.method, got.carrier, got.value) == ("GET", Carrier.QUERY, "GetQueue")
    assert set(posted.absent) == {"x-amz-target", "smithy-protocol"}


def test_a_json_service_is_told_by_its_target() -> None:
    (operation,) = read_botocore(service_2("json", "GetQueue"), None, QUEUES, LEVELS)
    assert [(call.carrier, call.name, call.value) for call in operation.calls] == [
        (Carrier.HEADERS, "x-amz-target", "AmazonQueues.GetQueue")
    ]


def test_a_rest_service_is_told_by_path_and_sub_resource() -> None:
    description = service_2("rest-xml", "GetQueueAcl", uri="/{QueueArn}/{Key+}?acl", method="GET")
    (operation,) = read_botocore(description, None, QUEUES, LEVELS)
    (call,) = operation.calls
    assert (call.method, call.path, call.query, call.encoded_slash) == ("GET", "/{queue_arn}/*", (("acl", "*"),), True)


def test_the_labels_of_iam_grade_the_operations() -> None:
    names = ("GetQueue", "DeleteQueue", "AddPermission", "ListQueues")
    found = {op.name: op.access for op in read_botocore(service_2("json", *names), None, QUEUES, LEVELS)}
    assert found == {
        "GetQueue": Access.READ,
        "DeleteQueue": Access.DELETE,
        "AddPermission": Access.PERMISSION,
        "ListQueues": Access.READ,
    }


def test_hosts_come_from_the_endpoint_rules_without_other_partitions() -> None:
    urls = [
        "https://messages.{Region}.{PartitionResult#dnsSuffix}",
        "https://queues-fips.{Region}.{PartitionResult#dnsSuffix}",
        "https://queues.us-gov-east-1.amazonaws.com",
        "https://queues.{Region}.{PartitionResult#dualStackDnsSuffix}",
        "https://{Bucket}.queues.{Region}.amazonaws.com",
    ]
    rules = {"rules": [{"endpoint": {"url": url}} for url in urls]}
    about = service_2("json")["metadata"]
    assert endpoint_hosts(about, rules) == ("queues.{region}.amazonaws.com", "messages.{region}.amazonaws.com")


@pytest.mark.parametrize(
    ("path", "method", "verb", "thing"),
    [
        ("/tickets", "get", "get", ("ticket",)),
        ("/tickets", "post", "create", ("ticket",)),
        ("/tickets/{id}", "post", "update", ("ticket",)),
        ("/tickets/{id}/comments", "get", "get", ("ticket", "comment")),
        ("/tickets/{id}/cancel", "post", "cancel", ("ticket",)),
        ("/tickets/search", "get", "search", ("ticket",)),
        ("/Tickets/{id}.json", "delete", "delete", ("ticket",)),
    ],
)
def test_an_openapi_path_tells_verb_and_thing(path: str, method: str, verb: str, thing: tuple[str, ...]) -> None:
    (operation,) = read_openapi(openapi_document({path: (method,)}), TICKETS)
    assert (operation.verb, operation.thing) == (verb, thing)
    assert operation.calls[0].host == "api.example.com"
    assert operation.calls[0].path == "/v1" + path


@pytest.mark.parametrize(
    ("name", "method", "verb", "thing", "access"),
    [
        ("notes.projects.pages.list", "GET", "list", ("page",), Access.READ),
        ("notes.projects.pages.lines.patch", "PATCH", "patch", ("page", "line"), Access.WRITE),
        ("notes.projects.pages.testIamPermissions", "POST", "ask about access to", ("page",), Access.PROBE),
        ("notes.projects.pages.setIamPolicy", "POST", "set", ("page", "iam", "policy"), Access.PERMISSION),
        ("notes.pages.aggregatedList", "GET", "list", ("page",), Access.READ),
    ],
)
def test_a_discovery_id_tells_verb_and_thing(
    name: str, method: str, verb: str, thing: tuple[str, ...], access: Access
) -> None:
    document = discovery_document((name, method, "v1/pages/{pagesId}"))
    (operation,) = read_discovery(document, google_service(document, {}))
    assert (operation.verb, operation.thing, operation.access) == (verb, thing, access)
    assert operation.service.name == "Notes"
    assert operation.calls[0].path == "/v{version}/pages/{pages_id}"


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/a/{petId}/b/{pet_id}", "/a/{pet_id}/b/{pet_id_2}"),
        ("/a/{Key+}", "/a/*"),
        ("/a/{Key+}/b", "/a/{key}/b"),
        ("/compare/{base}...{head}", "/compare/{base}"),
        ("/x/{2faId}", "/x/{p2fa_id}"),
        ("/x/{Sid}.json", "/x/{sid}.json"),
    ],
)
def test_path_templates_become_paths_of_packs(template: str, path: str) -> None:
    assert pack_path(template) == path
