"""A script, for a process of its own: a run on a cluster whose head has no processor, which gets a node once the run has
said that it waits."""

import sys
from contextlib import closing

import corpusmill as mill
from corpusmill.execute.ray import Ray
from corpusmill.execute.ray_cluster import connected
from corpusmill.progress.lines import ProgressLines
from made_cluster import made


def main(recipe: str, folder: str) -> None:
    clusters = made([0])
    cluster = next(clusters)

    def shown(line: str) -> None:
        print(line, flush=True)
        if "Waiting" in line:
            cluster.add()

    try:
        with connected(cluster.address, 1), closing(Ray(cluster.address)) as executor:
            run = mill.run(recipe, folder=folder, executor=executor, listener=ProgressLines(shown))
            print(run.waterfall.documents_out, "documents")
    finally:
        next(clusters, None)


if __name__ == "__main__":
    main(*sys.argv[1:])
