"""The plan of a cluster's nodes: from options and ports to specs and settings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.model.engine import EngineInfo
from pacenote.model.node_options import MANAGER_ROLES, NodeOptions
from pacenote.provision.engine_program import NodePorts
from pacenote.provision.node_spec import NodeSpec

_PORTS = ("http.port", "transport.port")
_INGEST = "ingest"
_DATA = "data"


def plan_nodes(options: NodeOptions, template: NodeSpec, engine: EngineInfo) -> tuple[NodeSpec, ...]:
    """Returns the specs of all nodes; `template` has what they have in common.

    Raises UsageError for roles that the engine does not have, for a cluster without a manager or without data
    nodes, and for settings that cannot be the same for all nodes.
    """
    shared = next((name for name in (*_PORTS, "node.name") if name in template.settings), None)
    if shared is not None and options.count > 1:
        raise UsageError(f"{shared} cannot be the same for {options.count} nodes", hint=f"remove {shared}")
    all_roles = [
        None if roles is None else tuple(_role(role, engine) for role in roles) for roles in options.roles
    ]
    _check_roles(all_roles, engine)
    return tuple(
        replace(
            template,
            name=name,
            roles=roles,
            manager_role=engine.manager_role,
            cpus=options.cpus_of(index),
            limits=options.limits,
            data_paths=options.data_paths_of(index),
        )
        for index, (name, roles) in enumerate(
            zip(node_names(template.name, options.count), all_roles, strict=True)
        )
    )


def node_names(name: str, count: int) -> tuple[str, ...]:
    """Returns the names of several nodes, `NAME-0`, `NAME-1` and so on, or the name of the only one."""
    prefix = name.removesuffix("-0")
    return (name,) if count == 1 else tuple(f"{prefix}-{index}" for index in range(count))


class Membership(Struct, frozen=True):
    """A node as a member of its cluster."""

    settings: Mapping[str, object]
    """The settings with which it finds the other nodes and the snapshots that they share; they override those
    of the car.
    """
    all_node_names: tuple[str, ...] = ()
    """The names of all nodes."""


def membership(spec: NodeSpec, nodes: Sequence[tuple[NodeSpec, NodePorts]], repository: Path) -> Membership:
    """Returns how a node finds the other nodes of its cluster, with their ports; all are on loopback, and
    have the folder `repository` for snapshots.
    """
    names = tuple(node.name for node, _ in nodes)
    roles = {} if spec.roles is None else {"node.roles": list(spec.roles)}
    # In a list, because engines split a text at its commas.
    shared: dict[str, object] = {**roles, "path.repo": [str(repository)]}
    if len(nodes) == 1:
        return Membership({**shared, "discovery.type": "single-node"}, names)
    managers = [(node, ports) for node, ports in nodes if node.can_manage]
    discovery = {
        "discovery.seed_hosts": [f"127.0.0.1:{ports.transport}" for _, ports in managers],
        f"cluster.initial_{spec.manager_role}_nodes": [node.name for node, _ in managers],
    }
    return Membership({**shared, **discovery}, names)


def role_warnings(options: NodeOptions) -> tuple[str, ...]:
    """Returns a warning if no node can run ingest pipelines."""
    if any(roles is None or _INGEST in roles for roles in options.roles):
        return ()
    return (
        f"no node has the role {_INGEST}, so requests with a pipeline fail; add it, as in "
        f"--nodes=master:1,{_DATA}+{_INGEST}:2",
    )


def _role(name: str, engine: EngineInfo) -> str:
    """Returns the engine's name of a role. Raises UsageError if it has no such role."""
    if name in MANAGER_ROLES:
        return engine.manager_role
    known = engine.api.roles
    if known and name not in known:
        names = sorted({*known, engine.manager_role})
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its roles: {', '.join(names)}"
        raise UsageError(f"--nodes: {engine.distribution} has no role '{name}'", hint=hint)
    return name


def _check_roles(all_roles: Iterable[tuple[str, ...] | None], engine: EngineInfo) -> None:
    role_lists = [roles for roles in all_roles if roles is not None]
    if not role_lists:
        return
    if not engine.has_node_roles:
        raise UsageError(
            f"--nodes: {engine.distribution} {engine.version} has no setting for roles",
            hint="give the number of nodes without roles",
        )
    names = {role for roles in role_lists for role in roles}
    if engine.manager_role not in names:
        raise UsageError(
            f"--nodes: no node has the role {engine.manager_role}, so the cluster would not form",
            hint=_missing_role_hint(engine.manager_role, names),
        )
    if names.isdisjoint({_DATA, *(role for role in engine.api.roles if role.startswith(_DATA))}):
        raise UsageError(
            f"--nodes: no node has the role {_DATA}, so there can be no indices",
            hint=_missing_role_hint(_DATA, names),
        )


def _missing_role_hint(role: str, names: Collection[str]) -> str:
    """Returns what to do about a role that no node has. Engines may have more roles than Pacenote knows."""
    close = get_close_matches(role, names, n=1)
    return f"did you mean {role} in place of {close[0]}?" if close else f"add {role}:1"
