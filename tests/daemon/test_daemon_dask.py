"""A plant with many lines computes its proposals on a cluster: here a real one on this machine."""

import pytest
from distributed import LocalCluster

from tests.daemon.running import campaign_text, daemon, tune


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the cluster's own
def test_a_campaign_runs_with_proposals_from_a_dask_cluster():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        daemon(
            f'[compute]\nbackend = "dask"\ndask_address = "{cluster.scheduler_address}"\n' + campaign_text(trials=5)
        ) as running,
    ):
        running.start()
        with running.client() as client:
            tune(client, "press")
            assert {trial.source for trial in client.trials("press").trials} == {"start", "model"}
        assert running.stop() == 0
