"""What an OPC UA server has: all variables and methods below Objects, and type and access of one node."""

import time
from collections.abc import AsyncIterator, Sequence

from adapters.shared.values import not_looked_at
from tuner.adapter import LinkError, Offered, RefusedError
from tuner.basics.text import shown

try:
    from asyncua import ua
    from asyncua.client.client import Client
    from asyncua.common.node import Node
    from asyncua.ua.attribute_ids import AttributeIds
    from asyncua.ua.object_ids import ObjectIds
    from asyncua.ua.uaerrors import UaError
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

_MOST = 5000  # nodes; a server with more is picked from by its own tools
_SERVER = ua.NodeId(ua.Int32(ObjectIds.Server))  # hundreds of variables about the server itself
_READ, _WRITE = 1, 2  # bits of an access level
_MORE = "more nodes"


class _TimeOverError(Exception):
    """The deadline came before all was looked at."""


async def variables(
    client: Client, namespaces: Sequence[str], namespace: str | None, deadline_s: float
) -> list[Offered]:
    """All below Objects but the server's own, in its order; those that cannot be looked at are left out."""
    ends_s = time.monotonic() + 0.9 * deadline_s
    found: list[Offered] = []
    try:
        async for path, node, kind in _below(client.nodes.objects, (), ends_s):
            if len(found) == _MOST:
                return [*found, Offered(_MORE, value=f"not listed, they are over {_MOST}", looked_at=False)]
            where = _written(node.nodeid, namespaces, namespace)
            if kind is ua.NodeClass.Method:
                owner = await node.get_parent()
                of = f" of {_written(owner.nodeid, namespaces, namespace)}" if owner is not None else ""
                found.append(Offered(where, ".".join(path), f"method{of}", "call"))
            else:
                found.append(await _variable(client, node, where, ".".join(path)))
    except _TimeOverError:
        found.append(not_looked_at(_MORE))
    return found


async def _below(
    node: Node, path: tuple[str, ...], ends_s: float
) -> AsyncIterator[tuple[tuple[str, ...], Node, ua.NodeClass]]:
    """Every variable and method once, with the names on the way to it.

    Raises:
        _TimeOverError: The time was over before all were seen.
    """
    seen = {node.nodeid, _SERVER}
    waiting = [(node, path)]
    while waiting:
        if time.monotonic() >= ends_s:
            raise _TimeOverError
        parent, names = waiting.pop(0)
        for reference in await parent.get_children_descriptions():
            if reference.NodeId in seen:
                continue
            seen.add(reference.NodeId)
            child = Node(parent.session, reference.NodeId)
            name = (*names, reference.BrowseName.Name or "?")
            if reference.NodeClass is not ua.NodeClass.Object:
                standard = reference.NodeId.NamespaceIndex == 0
                if reference.NodeClass in (ua.NodeClass.Variable, ua.NodeClass.Method) and not standard:
                    yield name, child, reference.NodeClass
                if reference.NodeClass is not ua.NodeClass.Variable:
                    continue
            waiting.append((child, name))


async def _variable(client: Client, node: Node, where: str, name: str) -> Offered:
    level, data = await node.read_attributes([AttributeIds.UserAccessLevel, AttributeIds.Value])
    value = data.Value.Value if data.Value is not None else None
    kind = await _kind(client, node)
    if isinstance(value, list):
        kind = f"{kind}[{len(value)}]"
    return Offered(where, name, kind, _access(level), _plain(value))


def _access(level: ua.DataValue) -> str:
    bits = level.Value.Value if level.Value is not None else 0
    return ", ".join(word for bit, word in ((_READ, "read"), (_WRITE, "write")) if bits & bit)


def _plain(value: object) -> str:
    text = value.Text or "" if isinstance(value, ua.LocalizedText) else str(value)
    return " ".join(text.split())[:60]


async def _kind(client: Client, node: Node) -> str:
    """The type of a variable; where that is abstract, the type of the value it has."""
    try:
        kind = await node.read_data_type_as_variant_type()
        if kind is ua.VariantType.Variant:
            data = await node.read_data_value()
            kind = data.Value.VariantType if data.Value is not None else kind
    except (UaError, ValueError):
        return "?"
    return str(kind.name)


def _written(node: ua.NodeId, namespaces: Sequence[str], namespace: str | None) -> str:
    """A node id as it is written in the settings: by the namespace's name, because its number may change."""
    identifier = node.to_string().rpartition(";")[2] if ";" in node.to_string() else node.to_string()
    uri = namespaces[node.NamespaceIndex] if node.NamespaceIndex < len(namespaces) else None
    if uri is None or ";" in uri:
        return node.to_string()
    return identifier if uri == namespace else f"nsu={uri};{identifier}"


async def described(
    client: Client, node_id: ua.NodeId, owner: ua.NodeId | None, arguments: int | None, *, written: bool
) -> str:
    """Type and access of a node, or why it cannot be used as the settings want it."""
    node = client.get_node(node_id)
    found = await node.read_node_class()
    if owner is not None:
        return await _method(client, node, found, owner, arguments or 0)
    if found is not ua.NodeClass.Variable:
        raise RefusedError(f"{node_id.to_string()} is no variable, but: {found.name}")
    level, user = await node.read_attributes([AttributeIds.AccessLevel, AttributeIds.UserAccessLevel])
    needed, word = (_WRITE, "written") if written else (_READ, "read")
    if level.Value is not None and not level.Value.Value & needed:
        raise RefusedError(f"it cannot be {word}: the server allows only {_access(level) or 'nothing'} for everybody")
    if user.Value is not None and not user.Value.Value & needed:
        raise RefusedError(
            f"it cannot be {word} by this user: give the user the right in the server, or take another user"
        )
    return f"{await _kind(client, node)}, {word}"


async def _method(client: Client, node: Node, found: ua.NodeClass, owner: ua.NodeId, arguments: int) -> str:
    if found is not ua.NodeClass.Method:
        raise RefusedError(f"{node.nodeid.to_string()} is no method, but: {found.name}")
    children = {one.NodeId for one in await client.get_node(owner).get_children_descriptions()}
    if node.nodeid not in children:
        raise RefusedError(f"the object {owner.to_string()} has no method {node.nodeid.to_string()}")
    allowed, mine = await node.read_attributes([AttributeIds.Executable, AttributeIds.UserExecutable])
    if not all(one.Value is not None and one.Value.Value for one in (allowed, mine)):
        raise RefusedError("it cannot be called by this user: give the user the right in the server")
    takes = await _inputs(node)
    if [one.DataType.Identifier for one in takes] != [ObjectIds.String] * arguments:
        wanted = "one String, the tag" if arguments else "no argument"
        raise RefusedError(
            f"it takes {len(takes)} arguments ({shown([one.Name for one in takes])}), pass_tag gives {wanted}"
        )
    return f"method with {len(takes)} arguments, called"


async def _inputs(node: Node) -> list[ua.Argument]:
    for child in await node.get_children_descriptions():
        if child.BrowseName.Name == "InputArguments":
            data = (await Node(node.session, child.NodeId).read_data_value()).Value
            if data is None:
                raise LinkError("it does not tell its arguments")
            return list(data.Value or [])
    return []
