#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resident memory and throughput of the pipeline over a million samples.

Each prediction gets its label a hundred predictions later; one label in fifty never comes.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from pathlib import Path

from tqdm import tqdm

from calib_node.core.calibrators import create
from calib_node.core.matching import create_matcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import Label, Prediction

SECOND = 1_000_000_000
INTERVAL = SECOND // 100
LABEL_DELAY = 100
PAGE = os.sysconf('SC_PAGE_SIZE')


def resident_megabytes() -> float:
    """Return the resident memory of this process."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * PAGE / 1e6


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--samples', type=int, default=1_000_000)
    arguments = parser.parse_args()
    pipeline = Pipeline(
        create('ops'), create_matcher('nearest', SECOND // 100, 60 * SECOND, SECOND, 10_000)
    )
    generator = random.Random(0)
    lines = []
    start = time.perf_counter()
    for i in tqdm(range(1, arguments.samples + 1), unit_scale=True, leave=False):
        pipeline.predict(Prediction(i * INTERVAL, generator.random()))
        if i > LABEL_DELAY and generator.random() > 0.02:
            pipeline.label(Label((i - LABEL_DELAY) * INTERVAL, float(generator.randrange(2))))
        if i % (arguments.samples // 10) == 0:
            now = time.perf_counter()
            speed = arguments.samples // 10 / (now - start)
            lines.append(f'{i:10,} samples {resident_megabytes():8.1f} MB {speed:10,.0f} samples/s')
            start = now
    print('\n'.join(lines))
    print(pipeline.matcher.counts)


if __name__ == '__main__':
    main()
