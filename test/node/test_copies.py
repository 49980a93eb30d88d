# SPDX-License-Identifier: Apache-2.0
"""What is heard over two subscriptions goes on once, in whatever order it comes."""

from __future__ import annotations

from array import array as typed_array
from collections import Counter

from geometry_msgs.msg import PointStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from std_msgs.msg import Float64MultiArray

from calib_node.ros.copies import BEST_EFFORT, RELIABLE, Copies, content_of


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([RELIABLE, BEST_EFFORT]))))
def test_as_many_of_a_content_are_new_as_came_over_the_side_that_heard_more(heard):
    copies = Copies(100)
    new = Counter(content for content, side in heard if copies.is_new(content, side))
    for content in range(4):
        sides = Counter(side for one, side in heard if one == content)
        assert new[content] == max(sides.values(), default=0)


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first():
    copies = Copies(2)
    assert all(copies.is_new(content, RELIABLE) for content in 'abc')
    assert len(copies) == 2
    assert not copies.is_new('c', BEST_EFFORT)
    assert copies.is_new('a', BEST_EFFORT)


def test_equal_messages_have_the_same_content_and_others_have_not():
    def point(x: float) -> PointStamped:
        message = PointStamped()
        message.point.x = x
        return message

    assert content_of(point(0.1)) == content_of(point(0.1))
    assert content_of(point(float('nan'))) == content_of(point(float('nan')))
    assert content_of(point(0.1)) != content_of(point(0.1 + 2e-17))
    long = [Float64MultiArray(data=typed_array('d', [0.0] * 5000)) for _ in range(2)]
    assert content_of(long[0]) == content_of(long[1])
    long[1].data[2500] = 1.0
    assert content_of(long[0]) != content_of(long[1])
    assert content_of(b'ab') == content_of(bytes([97, 98]))
