#!/usr/bin/env python3
"""The choices of the replaced systems, compared with small models of their rules.

models_test.py STOWAGE

The other tests have few rows; here many more of the same kinds are drawn, from a fixed seed.
"""
import random
import unittest

import admission_test
import elastic_test
from extender_cluster import main


def nano(free, demand, spread):
    """The card of each container, -1 for none; None if they do not fit."""
    free, chosen = list(free), [-1] * len(demand)
    for i in reversed(sorted(range(len(demand)), key=lambda i: demand[i])):  # the largest first
        if demand[i] == 0:
            continue
        fitting = [c for c in sorted(range(len(free)), key=lambda c: free[c])
                   if free[c] >= demand[i]]
        if not fitting:
            return None
        chosen[i] = fitting[-1 if spread else 0]
        free[chosen[i]] -= demand[i]
    return chosen


class Rated:
    """elastic-gpu-scheduler: tries all assignments, takes the last of the best rated ones."""

    def __init__(self, memory, request):
        self.memory = memory
        self.request = request
        self.best = None
        self.rating = -1

    def choose(self, left, chosen=()):
        """left: [(core, memory)] of the cards."""
        if len(chosen) == len(self.request):
            return self.rate(left, list(chosen))
        core, memory = self.request[len(chosen)]
        if core == memory == 0:
            self.choose(left, (*chosen, None))
        elif core >= 100:
            free = [c for c, each in enumerate(left) if each == (100, self.memory)][:core // 100]
            if len(free) == core // 100:
                self.choose([(0, 0) if c in free else each for c, each in enumerate(left)],
                            (*chosen, free))
        else:
            for c, each in enumerate(left):
                if each[0] >= core and each[1] >= memory:
                    rest = (each[0] - core, each[1] - memory)
                    self.choose([*left[:c], rest, *left[c + 1:]], (*chosen, [c]))
        return self.best

    def rate(self, left, chosen):
        single = {each[0] for each in chosen if each and len(each) == 1}
        core, memory = zip(*left)
        rating = (max(memory) + max(core) - min(memory) - min(core)) // 2 // (len(single) + 1) * 100
        if rating >= self.rating:
            self.best, self.rating = chosen, rating
        return self.best


def admission(nodes, request):
    """(node, idx of each container) and the cards of that node then; None if it fits nowhere."""
    def fullest(name):
        return sum(c for c, _ in nodes[name]), sum(m for _, m in nodes[name]), name
    for name in sorted(nodes, key=fullest):
        cards, chosen = list(nodes[name]), []
        for core, memory in request:
            order = sorted(range(len(cards)), key=lambda i: (*cards[i], i))
            if core == 0:
                chosen.append(None)
                continue
            count = max(1, core // 100)
            fitting = [i for i in order if cards[i][0] >= min(core, 100)
                       and (core >= 100 or cards[i][1] >= memory)][:count]
            if len(fitting) < count:
                break
            for i in fitting:
                cards[i] = (0, 0) if core >= 100 else (cards[i][0] - core, cards[i][1] - memory)
            chosen.append(",".join(map(str, fitting)))
        else:
            return name, chosen, cards
    return None


class Nano(elastic_test.Nano):
    def test_drawn(self):
        draw = random.Random(41)
        for _ in range(40):
            free = [draw.choice((100, 100, 80, 60, 50, 40, 30, 10))
                    for _ in range(draw.randint(1, 4))]
            demand = [draw.choice((0, 10, 20, 30, 40, 50, 60, 100))
                      for _ in range(draw.randint(0, 2))] + [draw.choice((10, 20, 50))]
            for policy in ("binpack", "spread"):
                with self.subTest(f"{policy} {demand} on {free}"):
                    on = self.make_node(self.fresh(), free)
                    value = self.make_pod(demand, policy)
                    expected = nano(free, demand, policy == "spread")
                    fits = self.extender.filter(value, [on]).nodes == [on]
                    self.assertEqual(fits, expected is not None)
                    if fits:
                        self.assertEqual(self.extender.bind(value, on), "")
                        notes = self.annotations(value)
                        self.assertEqual([int(notes.get(f"nano-gpu/container-c{i}", -1))
                                          for i in range(len(demand))], expected)


class Elastic(elastic_test.Elastic):
    def test_drawn(self):
        draw = random.Random(42)
        for _ in range(60):
            count, memory = draw.randint(1, 4), draw.choice((12, 1000, 16000))
            used = [(c, draw.choice((0, 10, 50, 90)), draw.choice((1, memory // 4, memory // 2)))
                    for c in range(count) if draw.random() < 0.5]
            shares = ((0, 0), (100, 0), (200, 0), (0, memory // 3), (20, memory // 4),
                      (60, memory // 8), (50, memory // 2), (40, 0))
            request = [draw.choice(shares) for _ in range(draw.randint(0, 2))]
            request.append(draw.choice(shares[1:]))
            with self.subTest(f"{request} on {count}x{memory} {used}"):
                left = self.left(count, memory, used, [], None)
                expected = Rated(memory, request).choose(left)
                on = self.make_node(self.fresh(), count, memory, used)
                value = self.make_pod(request)
                fits = self.filter(value, [on]).nodes == [on]
                self.assertEqual(fits, expected is not None)
                if fits:
                    self.assertEqual(self.bind(value, on), "")
                    self.assertEqual(self.written(value, len(request)),
                                     [each and ",".join(map(str, each)) for each in expected])


class Admission(admission_test.Admission):
    def test_drawn(self):
        draw = random.Random(43)
        shares = ((10, 1), (30, 2), (50, 2), (60, 7), (100, 0), (200, 0), (0, 0), (99, 1), (25, 8))
        for _ in range(8):
            self.row = self.fresh()
            counts = [draw.randint(1, 4) for _ in range(draw.randint(1, 4))]
            names = self.nodes(*((f"n{i}", count, 8) for i, count in enumerate(counts)))
            left = {name: [(100, 8)] * count for name, count in zip(names, counts)}
            for number in range(12):
                request = [draw.choice(shares) for _ in range(draw.randint(0, 2))]
                request.append(draw.choice(shares[:6]))
                with self.subTest(f"{request} on {left}"):
                    expected = admission(left, request)
                    value = self.make(f"p{number}", request)
                    if expected is None:
                        self.assertEqual(self.extender.filter(value, names).nodes, [])
                        continue
                    name, chosen, left[name] = expected
                    self.assertEqual(self.place(value, names).nodes, [name])
                    self.assertEqual(self.written(value, len(request)), chosen)


def load_tests(*_):
    """Inherited tests run only in their own module."""
    return unittest.TestSuite(case("test_drawn") for case in (Nano, Elastic, Admission))


if __name__ == "__main__":
    main()
