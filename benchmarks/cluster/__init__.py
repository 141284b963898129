"""What shared runs cost and survive, on Ray and as workers: python -m benchmarks.cluster --workload build/workload

Clusters of 2 and 4 nodes on this machine, made with Ray's own helper; the head is a node of its own without tasks.
"""
