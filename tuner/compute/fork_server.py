"""The daemon's side of its worker processes: start the fork server, have workers forked, talk to them, end them."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys

from tuner.compute.worker import HEADER

START_DEADLINE_S = 60.0  # imports on a slow, busy machine
# the workers import what the daemon would import, from wherever it was started
BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    # before the rest is imported: that takes seconds, in which the daemon may be killed and started many times
    "from tuner.basics.processes import end_with_parent; end_with_parent();"
    "from tuner.compute.worker import main; main()"
)


class WorkerLostError(ConnectionError):
    """The worker ended or never came to be."""


class Worker(asyncio.Protocol):
    """The connection to one worker process.

    Attributes:
        pid: Its process number, once it has said so.
        lost: Done when the connection is gone.
    """

    def __init__(self) -> None:
        self.pid = 0
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._message: asyncio.Future[bytes] | None = None
        self._pidfd = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect the parts of a message."""
        self._received += data
        self._pass_on()

    def _pass_on(self) -> None:
        """Give a whole message to whom waits for one; it is one answer for one request, so there is one at most."""
        if self._message is None or self._message.done() or len(self._received) < HEADER.size:
            return
        (length,) = HEADER.unpack_from(self._received)
        if len(self._received) >= HEADER.size + length:
            message = bytes(self._received[HEADER.size : HEADER.size + length])
            del self._received[: HEADER.size + length]
            self._message.set_result(message)

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits."""
        if not self.lost.done():
            self.lost.set_result(None)
        if self._message is not None and not self._message.done():
            self._message.set_exception(WorkerLostError("the worker is gone"))

    async def _receive(self) -> bytes:
        if self.lost.done():
            raise WorkerLostError("the worker is gone")
        self._message = asyncio.get_running_loop().create_future()
        self._pass_on()
        return await self._message

    async def greeted(self) -> None:
        """Wait until the worker says its number."""
        self.pid = int(await self._receive())
        try:
            # unlike a number, this can never come to mean another process
            self._pidfd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            raise WorkerLostError("the worker is gone") from None

    async def ask(self, request: bytes) -> bytes:
        """Send a request and return the answer."""
        if self._transport is None or self.lost.done():
            raise WorkerLostError("the worker is gone")
        self._transport.writelines([HEADER.pack(len(request)), request])
        return await self._receive()

    def end(self) -> None:
        """End the process at once, whatever it does, and the connection."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            os.close(self._pidfd)
            self._pidfd = -1
        if self._transport is not None:
            self._transport.abort()


class ForkServer:
    """Forks workers from a process in which everything is imported and warm; starts that process when needed."""

    def __init__(self) -> None:
        self._start_deadline_s = START_DEADLINE_S
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Its process number, if it runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def worker(self) -> Worker:
        """Return a new worker that is ready.

        Raises:
            WorkerLostError: It did not come to be; another try may succeed.
        """
        control = await self._running()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(control, [b"w"], [theirs.fileno()])
            _, worker = await asyncio.get_running_loop().create_connection(Worker, sock=ours)
        except OSError as error:
            ours.close()
            raise WorkerLostError("the fork server of the workers is gone") from error
        try:
            async with asyncio.timeout(self._start_deadline_s):
                await worker.greeted()
        except TimeoutError:
            worker.end()
            if control is self._control:
                await self.close()  # it hangs
            raise WorkerLostError(f"a worker did not start within {self._start_deadline_s:g} s") from None
        except BaseException:
            worker.end()
            raise
        return worker

    async def _running(self) -> socket.socket:
        """Return the way to the fork server; start it if it does not run."""
        async with self._starting:
            if self._control is not None and self.pid is not None:
                return self._control
            await self.close()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                try:
                    self._process = await asyncio.create_subprocess_exec(
                        sys.executable,
                        "-P",
                        "-c",
                        BEGIN,
                        json.dumps(sys.path),
                        str(theirs.fileno()),
                        pass_fds=[theirs.fileno()],
                        stdin=asyncio.subprocess.DEVNULL,
                        stdout=asyncio.subprocess.DEVNULL,
                    )
                except BaseException as error:
                    ours.close()
                    if isinstance(error, OSError):
                        raise WorkerLostError(f"no process can be started: {error}") from error
                    raise
            self._control = ours
            return ours

    async def close(self) -> None:
        """End the fork server; workers that it forked live on."""
        control, process = self._control, self._process
        self._control = self._process = None
        if control is not None:
            control.close()
        if process is not None:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()
