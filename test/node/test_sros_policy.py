# SPDX-License-Identifier: Apache-2.0
"""The sample policy for SROS 2 grants what the node uses, and nothing else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from .harness import Client, World

POLICY = Path(__file__).resolve().parents[2] / 'config' / 'sros' / 'policy.xml'

# Of the schema of sros2, policy version 0.2.0: each element with its attributes and its children.
SCHEMA: dict[str, tuple[set[str], set[str]]] = {
    'policy': ({'version'}, {'enclaves'}),
    'enclaves': (set(), {'enclave'}),
    'enclave': ({'path'}, {'profiles'}),
    'profiles': (set(), {'profile'}),
    'profile': ({'ns', 'node'}, {'topics', 'services'}),
    'topics': ({'publish', 'subscribe'}, {'topic'}),
    'services': ({'reply', 'request'}, {'service'}),
    'topic': (set(), set()),
    'service': (set(), set()),
}
OPTIONAL = {'topics', 'services'}
"""Elements of which each attribute is optional, and ALLOW or DENY."""

NOT_EVERYWHERE = {'~/get_type_description'}
"""Newer releases than Humble have it."""

ABSOLUTE = {'/clock', '/diagnostics', '/parameter_events', '/rosout'}
"""Names that no namespace changes."""


def check(element: ElementTree.Element) -> None:
    attributes, children = SCHEMA[element.tag]
    given = set(element.attrib)
    assert given <= attributes
    assert given == attributes or element.tag in OPTIONAL
    assert {child.tag for child in element} <= children
    assert len(element) or not children
    assert bool((element.text or '').strip()) is not bool(children)
    for child in element:
        check(child)


def granted(kind: str, action: str) -> set[str]:
    """Return the names that the policy allows an action on."""
    (profile,) = ElementTree.parse(POLICY).iter('profile')
    rules = [rule for rule in profile.findall(kind) if rule.get(action) == 'ALLOW']
    names = [item.text for rule in rules for item in rule]
    assert len(names) == len(set(names))
    return set(names)


def test_it_is_a_policy_as_the_schema_has_it():
    root = ElementTree.parse(POLICY).getroot()
    assert root.tag == 'policy'
    assert root.get('version') == '0.2.0'
    check(root)
    values = {v for tag in OPTIONAL for rule in root.iter(tag) for v in rule.attrib.values()}
    assert values == {'ALLOW'}
    (profile,) = root.iter('profile')
    (enclave,) = root.iter('enclave')
    assert enclave.get('path') == f'{profile.get("ns")}{profile.get("node")}'
    # A star would grant more than is used.
    assert '*' not in POLICY.read_text()


def test_sros2_takes_it():
    policy = pytest.importorskip('sros2.policy', reason='sros2 is not installed')
    policy.load_policy(POLICY)


def uses(client: Client, query: str) -> set[str]:
    """Return what the graph tells of the node, named as in the policy."""
    node = client.node
    if ('calib_node', '/') not in node.get_node_names_and_namespaces():
        return set()
    ask = getattr(node, f'get_{query}_names_and_types_by_node')
    names = {name for name, _ in ask('calib_node', '/')}
    private = {name for name in names if name.startswith('/calib_node/')}
    relative = names - private - ABSOLUTE
    return (
        {name.replace('/calib_node', '~') for name in private}
        | {name[1:] for name in relative}
        | (names & ABSOLUTE)
    )


def test_it_grants_what_the_node_uses_and_nothing_else(world: World):
    client = world.client()
    world.start({'use_sim_time': True})
    for query, names in (
        ('publisher', granted('topics', 'publish')),
        ('subscriber', granted('topics', 'subscribe')),
        ('service', granted('services', 'reply')),
    ):
        always = names - NOT_EVERYWHERE
        client.spin_until(lambda q=query, a=always: a <= uses(client, q), f'use of all {query}s')
        assert always <= uses(client, query) <= names
    assert uses(client, 'client') == granted('services', 'request') == set()
